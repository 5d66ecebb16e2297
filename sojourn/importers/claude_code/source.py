"""Claude Code as a history: where it is found, and one session of it as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.claude_code import records
from sojourn.importers.claude_code.layout import (
    SessionFile,
    custom_title,
    folders,
    is_session_file,
    session_files,
    titles_in,
)
from sojourn.importers.jsonl import LineFile, as_object
from sojourn.importers.transcript_builder import Talk, as_json, mapping, nonempty
from sojourn.importers.usage import Spending
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin

NAME = "claude-code"


class ClaudeReader:
    """A home of Claude Code. What is where is looked up once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._titles: dict[Path, dict[str, str]] = {}

    @cached_property
    def _files(self) -> dict[str, SessionFile]:
        return {one.native_id: one for one in session_files(self._home)}

    def sessions(self) -> Iterator[SessionEntry]:
        for one in self._files.values():
            yield SessionEntry(native_id=one.native_id, fingerprint=one.fingerprint, problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        one = self._files.get(native_id)
        if one is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        return _transcript(one, self._titles_beside(one.path.parent))

    def _titles_beside(self, folder: Path) -> dict[str, str]:
        """Titles by the record they end at: 1.x wrote them at the head of whichever file came next."""
        if folder not in self._titles:
            found: dict[str, str] = {}
            for path in sorted(folder.glob("*.jsonl")):
                for record in titles_in(path):
                    found.setdefault(str(record.get("leafUuid")), str(record.get("summary")))
            self._titles[folder] = found
        return self._titles[folder]


class _Facts:
    """What the records say about the session as a whole."""

    def __init__(self) -> None:
        self.fields: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.session = ""
        self.spending = Spending()
        self._counted: set[str] = set()

    def note(self, record: dict[str, Any]) -> None:
        for key, column in (("cwd", "cwd"), ("version", "version"), ("entrypoint", "entrypoint")):
            if nonempty(record.get(key)):
                self.fields.setdefault(column, record[key])
        if nonempty(record.get("gitBranch")):
            self.fields["git_branch"] = record["gitBranch"]
        self.session = nonempty(record.get("sessionId")) or self.session
        for key in ("customTitle", "aiTitle"):
            if nonempty(record.get(key)):
                self.names[key] = record[key]
        if record.get("type") == "cost-state" and isinstance(record.get("totalCostUSD"), int | float):
            self.fields["estimated_cost_usd"] = float(record["totalCostUSD"])
        if record.get("type") == "assistant":
            self._spend(mapping(record.get("message")))

    def _spend(self, answer: dict[str, Any]) -> None:
        """Each block of an answer repeats what the whole answer took."""
        model, usage, own = nonempty(answer.get("model")), mapping(answer.get("usage")), str(answer.get("id"))
        if model is None or model == "<synthetic>":
            return
        self.fields["model"] = model
        if usage and own not in self._counted:
            self._counted.add(own)
            self.spending.add(
                model,
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                cache_read_tokens=usage.get("cache_read_input_tokens"),
                cache_write_tokens=usage.get("cache_creation_input_tokens"),
            )


def _transcript(one: SessionFile, titles: Mapping[str, str]) -> Transcript:
    lines, talk, facts = LineFile(one.path), Talk(), _Facts()
    summary = _gather(one, lines, talk, facts, titles)
    for kind, data in _beside(one):
        talk.keep(kind, as_json(data))
        facts.names |= {key: data[key] for key in ("customTitle", "description") if nonempty(data.get(key))}
    fields = facts.fields | facts.spending.fields()
    fields |= {
        "source": "subagent" if one.helper else NAME,
        "parent_session_id": _parent(one, facts),
        "title": _title(facts.names) or (None if one.parent else summary),
        "started_at": talk.messages[0].timestamp if talk.messages else one.began,
        "extra": as_json({key: fields.pop(key) for key in ("version", "entrypoint") if key in fields}),
    }
    return Transcript(
        native_id=one.native_id,
        fields=fields,
        messages=talk.messages,
        records=[*talk.records, *lines.unreadable],
        warnings=tuple(lines.warnings),
    )


def _gather(one: SessionFile, lines: LineFile, talk: Talk, facts: _Facts, titles: Mapping[str, str]) -> str | None:
    """Takes in every record of the session once; gives the title that was made for it, if there is one."""
    seen: set[str] = set()
    before = summary = None
    for line in lines:
        record, own = line.record, nonempty(line.record.get("uuid"))
        if one.is_shared and bool(record.get("isSidechain")) != one.helper:
            continue  # it belongs to the other session in this file
        facts.note(record)
        if record.get("parentUuid") == before:
            record.pop("parentUuid", None)  # kept only where the order of the file does not say it already
        before = own or before
        if own in seen:
            continue  # a second compaction writes old records again
        if own is not None:
            seen.add(own)
            summary = summary or titles.get(own)
        elif record.get("type") == "summary" and str(record.get("leafUuid")) in seen:
            summary = summary or nonempty(record.get("summary"))
        if not records.add(talk, line, is_helper=one.helper) and record.get("type") not in records.REPEATED:
            talk.keep(str(record.get("type") or "unknown"), line.text)
    return summary


def _beside(one: SessionFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Small files about the session: the name a person gave it, the task a helper was given."""
    if one.is_inside:
        return
    for path in (custom_title(one.path), one.path.with_suffix(".meta.json")):
        try:
            data = as_object(path.read_bytes())
        except OSError:
            continue
        if data is not None:
            yield path.name, data


def _parent(one: SessionFile, facts: _Facts) -> str | None:
    """A helper of 2.0 may begin under the id of a session that never was; the last one it names is real."""
    return one.parent or (facts.session if one.helper else None) or None


def _title(names: Mapping[str, str]) -> str | None:
    return names.get("customTitle") or names.get("description") or names.get("aiTitle")


class ClaudeCode:
    """The source."""

    name, label = NAME, "Claude Code"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        if environment.get("CLAUDE_CONFIG_DIR"):
            places = [Path(environment["CLAUDE_CONFIG_DIR"])]
        else:
            places = [user_home / ".claude", user_home / ".config" / "claude"]
        return [found for place in places if (found := self._look(place, usual=True))]

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._look(path) if is_session_file(path) else None
        home = path.parent if path.name == "projects" else path
        if (home / "projects").is_dir() or any(is_session_file(one) for one in path.glob("*.jsonl")):
            return self._look(home)
        return None

    def _look(self, home: Path, *, usual: bool = False) -> FoundHistory | None:
        try:
            files = session_files(home) if not usual or (home / "projects").is_dir() else []
        except OSError as error:
            return FoundHistory(
                source=self.name, home=home, problem=f"{home} cannot be read: {error.strerror or error}."
            )
        if not files:
            return None
        good = [one for one in files if not one.problem]
        return FoundHistory(
            source=self.name,
            home=home,
            sessions=len(files),
            bytes=sum(one.size for one in good if not one.is_inside),
            version=max(files, key=lambda one: one.began).version,
            problem="" if good else files[0].problem,
        )

    @contextmanager
    def open(self, home: Path) -> Iterator[ClaudeReader]:
        if not home.is_file() and not folders(home):
            raise SourceUnreadable(f"There are no sessions of Claude Code in {home}.", hint="Give its config folder.")
        yield ClaudeReader(home)


plugin = Plugin(name=NAME, summary="Brings in the history of Claude Code.", sources=[ClaudeCode])
