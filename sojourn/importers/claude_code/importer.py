"""The importer for Claude Code: finds its homes and reads whole sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.claude_code import records
from sojourn.importers.claude_code.layout import (
    SessionFile,
    get_title_path,
    is_session_file,
    list_project_folders,
    list_session_files,
    read_titles,
)
from sojourn.importers.jsonl import JsonLinesFile, parse_object
from sojourn.importers.regular_file import read_regular
from sojourn.importers.transcript_builder import (
    NO_USAGE,
    ImportedUsage,
    TranscriptBuilder,
    as_mapping,
    as_text,
    to_json,
)
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin

NAME = "claude-code"


class ClaudeReader:
    """Reads a home of Claude Code; lists its files once."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._titles: dict[Path, dict[str, str]] = {}
        self._answers: dict[Path, frozenset[str]] = {}

    @cached_property
    def _files(self) -> dict[str, SessionFile]:
        return {one.native_id: one for one in list_session_files(self._home)}

    def sessions(self) -> Iterator[SessionEntry]:
        for one in self._files.values():
            yield SessionEntry(native_id=one.native_id, fingerprint=one.fingerprint, problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        one = self._files.get(native_id)
        if one is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        replayed = frozenset[str]().union(*map(self._load_answers, one.replayed))
        return _read_transcript(one, self._load_titles(one.path.parent), replayed)

    def _load_answers(self, path: Path) -> frozenset[str]:
        """The ids of all answers in a file."""
        if path not in self._answers:
            try:
                found = (as_mapping(line.record.get("message")).get("id") for line in JsonLinesFile(path))
                self._answers[path] = frozenset(str(id) for id in found if id)
            except SourceUnreadable:
                self._answers[path] = frozenset()
        return self._answers[path]

    def _load_titles(self, folder: Path) -> dict[str, str]:
        """Titles by the id of the last record of their session: 1.x wrote them at the beginning of a later file."""
        if folder not in self._titles:
            found: dict[str, str] = {}
            for path in sorted(folder.glob("*.jsonl")):
                for record in read_titles(path):
                    found.setdefault(str(record.get("leafUuid")), str(record.get("summary")))
            self._titles[folder] = found
        return self._titles[folder]


class _SessionFields:
    """Collects the fields of the session from its records."""

    def __init__(self, usage: ImportedUsage) -> None:
        self.fields: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.session = ""
        self._usage = usage
        self._answers: dict[str, tuple[str, dict[str, Any]]] = {}  # model and usage, by the id of the answer

    def note(self, record: dict[str, Any]) -> None:
        for key in ("cwd", "version", "entrypoint"):
            if as_text(record.get(key)):
                self.fields.setdefault(key, record[key])
        if as_text(record.get("gitBranch")):
            self.fields["git_branch"] = record["gitBranch"]
        self.session = as_text(record.get("sessionId")) or self.session
        for key in ("customTitle", "aiTitle"):
            if as_text(record.get(key)):
                self.names[key] = record[key]
        if record.get("type") == "cost-state" and isinstance(record.get("totalCostUSD"), int | float):
            self.fields["estimated_cost_usd"] = float(record["totalCostUSD"])
        if record.get("type") == "assistant":
            self._note_usage(as_mapping(record.get("message")))

    def _note_usage(self, answer: dict[str, Any]) -> None:
        """Keeps the last usage of an answer: each of its blocks repeats it, and only the last one is complete."""
        model, usage, own = as_text(answer.get("model")), as_mapping(answer.get("usage")), str(answer.get("id"))
        if model is None or model == "<synthetic>":
            return
        self.fields["model"] = model
        if usage:
            self._answers[own] = (model, usage)

    def add_usage(self, replayed: Collection[str]) -> None:
        """Adds the usage of every answer once; that of answers which a fork repeats counts where they were given."""
        if self._answers.keys() & replayed:
            self.fields |= NO_USAGE | {"usage": []}
        for own, (model, usage) in self._answers.items():
            if own in replayed:
                continue
            self._usage.add(
                model,
                input_tokens=usage.get("input_tokens"),
                output_tokens=usage.get("output_tokens"),
                cache_read_tokens=usage.get("cache_read_input_tokens"),
                cache_write_tokens=usage.get("cache_creation_input_tokens"),
            )


def _read_transcript(one: SessionFile, titles: Mapping[str, str], replayed: Collection[str]) -> Transcript:
    lines, builder = JsonLinesFile(one.path), TranscriptBuilder()
    facts = _SessionFields(builder.usage)
    summary = _add_records(one, lines, builder, facts, titles)
    facts.add_usage(replayed)
    for kind, data in _read_side_files(one):
        builder.add_record(kind, to_json(data))
        facts.names |= {key: data[key] for key in ("customTitle", "description") if as_text(data.get(key))}
    fields, names = facts.fields, facts.names
    # A subagent of 2.0 may name a parent that does not exist first; the last name is right.
    parent = one.parent or (facts.session if one.is_subagent else None)
    title = names.get("customTitle") or names.get("description") or names.get("aiTitle")
    fields |= {
        "source": "subagent" if one.is_subagent else NAME,
        "parent_session_id": parent or None,
        "title": title or (None if one.parent else summary),
        "started_at": builder.messages[0].timestamp if builder.messages else one.began,
        "extra": to_json({key: fields.pop(key) for key in ("version", "entrypoint") if key in fields}),
    }
    return builder.build(one.native_id, fields, lines)


def _add_records(
    one: SessionFile, lines: JsonLinesFile, builder: TranscriptBuilder, facts: _SessionFields, titles: Mapping[str, str]
) -> str | None:
    """Adds every record of the session once; returns its generated title, if any."""
    seen: set[str] = set()
    before = summary = None
    for line in lines:
        record, own = line.record, as_text(line.record.get("uuid"))
        if one.is_shared and bool(record.get("isSidechain")) != one.is_subagent:
            continue  # part of the other session in this file
        facts.note(record)
        if record.get("parentUuid") == before:
            record.pop("parentUuid", None)  # redundant: the order of the file says the same
        before = own or before
        if own in seen:
            continue  # a second compaction repeats old records
        if own is not None:
            seen.add(own)
            summary = summary or titles.get(own)
        elif record.get("type") == "summary" and str(record.get("leafUuid")) in seen:
            summary = summary or as_text(record.get("summary"))
        has_messages = records.add_record(builder, line, is_subagent=one.is_subagent)
        if not has_messages and record.get("type") not in records.REPEATED:
            builder.add_record(str(record.get("type") or "unknown"), line.text)
    return summary


def _read_side_files(one: SessionFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """The small files about the session: its custom title, and the task of a subagent."""
    if one.is_sidechain_part:
        return
    for path in (get_title_path(one.path), one.path.with_suffix(".meta.json")):
        try:
            data = parse_object(read_regular(path))
        except OSError:
            continue
        if data is not None:
            yield path.name, data


class ClaudeCodeImporter:
    """Imports sessions of Claude Code."""

    name, label = NAME, "Claude Code"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        if environment.get("CLAUDE_CONFIG_DIR"):
            places = [Path(environment["CLAUDE_CONFIG_DIR"])]
        else:
            places = [user_home / ".claude", user_home / ".config" / "claude"]
        return [found for place in places if (found := self._inspect(place, usual=True))]

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._inspect(path) if is_session_file(path) else None
        home = path.parent if path.name == "projects" else path
        if (home / "projects").is_dir() or any(is_session_file(one) for one in path.glob("*.jsonl")):
            return self._inspect(home)
        return None

    def _inspect(self, home: Path, *, usual: bool = False) -> FoundHistory | None:
        try:
            files = list_session_files(home) if not usual or (home / "projects").is_dir() else []
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
            bytes=sum(one.size for one in good if not one.is_sidechain_part),
            version=max(files, key=lambda one: one.began).version,
            problem="" if good else files[0].problem,
        )

    @contextmanager
    def open(self, home: Path) -> Iterator[ClaudeReader]:
        if not home.is_file() and not list_project_folders(home):
            raise SourceUnreadable(f"There are no sessions of Claude Code in {home}.", hint="Give its config folder.")
        yield ClaudeReader(home)


plugin = Plugin(name=NAME, summary="Imports the history of Claude Code.", sources=[ClaudeCodeImporter])
