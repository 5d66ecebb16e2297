"""Rebuilds sessions of Claude Code whose transcripts were deleted, from what the program leaves behind.

    history.jsonl                         the prompts that were typed, with their session
    file-history/<session>/<hash>@v<n>    contents of changed files; the hash is that of the path
    tasks/<session>/<n>.json              the last state of the task list; `todos/<session>-agent-*.json` before 2.1
    projects/<project>/<session>/custom-title.json    the title that a person gave

Each message says whether it is certain or inferred. What Claude Code answered is lost.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.claude_code.layout import list_session_files
from sojourn.importers.jsonl import JsonLinesFile, parse_object
from sojourn.importers.regular_file import read_regular
from sojourn.importers.transcript_builder import TranscriptBuilder, as_mapping, as_text, make_title, to_json, to_seconds
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.text.escape import from_bytes

NAME = "claude-code-rescue"
SUFFIX = ".rescued"  # of the ids: never that of a living session
CERTAIN, INFERRED = "[certain]", "[inferred]"
_SESSION_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{7,99}")
_VERSION_NAME = re.compile(r"([0-9a-f]{16})@v([0-9]{1,6})")
_HASH_NAME = re.compile(r"[0-9a-f]{8,64}")
_MAX_FILE_BYTES = 200_000
_MAX_PATHS = 20_000  # of a project, whose hashes are compared


@dataclass(slots=True, kw_only=True)
class Remains:
    """What is left of one session: its prompts, and files by what they hold."""

    prompts: list[dict[str, Any]] = field(default_factory=list)
    versions: list[Path] = field(default_factory=list)
    tasks: list[Path] = field(default_factory=list)
    title: Path | None = None

    @property
    def fingerprint(self) -> str:
        stats = [(path.name, path.stat().st_mtime_ns) for path in (*self.versions, *self.tasks) if path.is_file()]
        return hashlib.sha256(repr((self.prompts, stats)).encode("utf-8", "surrogatepass")).hexdigest()


class RemainsReader:
    """Reads what is left of deleted sessions. Sessions that are still there, or `known` here, are none of them."""

    def __init__(self, home: Path, known: Iterable[str]) -> None:
        self._home, self._known = home, set(known)
        self._history = JsonLinesFile(home / "history.jsonl")

    @cached_property
    def _found(self) -> dict[str, Remains]:
        living = {one.path.stem for one in list_session_files(self._home)} | self._known
        found: dict[str, Remains] = {}
        for session, add in self._list_parts():
            if session not in living and _SESSION_ID.fullmatch(session):
                add(found.setdefault(session, Remains()))
        kept = {name: one for name, one in found.items() if one.prompts or one.versions or one.tasks}
        return dict(sorted(kept.items(), key=lambda item: _find_beginning(item[1])))

    def _list_parts(self) -> Iterator[tuple[str, Any]]:
        """Each part with its session, as a function that adds it."""
        if (self._home / "history.jsonl").is_file():
            for line in self._history:
                session = as_text(line.record.get("sessionId"))
                if session and as_text(line.record.get("display")):
                    yield session, lambda to, prompt=line.record: to.prompts.append(prompt)
        for path in sorted(self._home.glob("file-history/*/*@v*")):
            if _VERSION_NAME.fullmatch(path.name):
                yield path.parent.name, lambda to, path=path: to.versions.append(path)
        for path in sorted(self._home.glob("tasks/*/*.json")):
            yield path.parent.name, lambda to, path=path: to.tasks.append(path)
        for path in sorted(self._home.glob("todos/*-agent-*.json")):
            yield path.name.partition("-agent-")[0], lambda to, path=path: to.tasks.append(path)
        for path in sorted(self._home.glob("projects/*/*/custom-title.json")):
            yield path.parent.name, lambda to, path=path: setattr(to, "title", path)

    def sessions(self) -> Iterator[SessionEntry]:
        for name, one in self._found.items():
            yield SessionEntry(native_id=name + SUFFIX, fingerprint=one.fingerprint)

    def read(self, native_id: str) -> Transcript:
        name = native_id.removesuffix(SUFFIX)
        one = self._found.get(name)
        if one is None:
            raise SourceUnreadable(f"Nothing is left of session {name}.", hint="It may be back, or gone for good.")
        return _build_transcript(self._home, name, one)


def _build_transcript(home: Path, native_id: str, one: Remains) -> Transcript:
    builder, project = TranscriptBuilder(), _find_project(one)
    entries = [*_list_prompts(home, one), *_list_versions(one, project), *_list_tasks(one)]
    entries.sort(key=lambda entry: entry[0])
    began = entries[0][0] if entries else 0.0
    counts = f"{len(one.prompts)} prompts, {len(one.versions)} contents of files"
    lost = f"Rebuilt from what Claude Code left behind ({counts}). Its answers and tool calls are lost."
    builder.add("system", "remains", began, content=f"{CERTAIN} {lost}")
    for at, role, own, text in entries:
        mark = INFERRED if text.startswith(INFERRED) else CERTAIN
        builder.add(role, own, at, content=text, extra=to_json({"rescued": mark.strip("[]")}))
    title = _read_title(one) or (make_title(str(one.prompts[0]["display"])) if one.prompts else None)
    fields = {
        "source": NAME,
        "cwd": project,
        "title": f"{title} (rescued)" if title else None,
        "started_at": began,
        "extra": to_json({"rescued_from": native_id}),
    }
    return builder.build(native_id + SUFFIX, fields)


_Entry = tuple[float, str, str, str]  # time, role, its own id, text


def _list_prompts(home: Path, one: Remains) -> Iterator[_Entry]:
    for n, prompt in enumerate(one.prompts):
        pasted = [_read_pasted(home, part) for part in as_mapping(prompt.get("pastedContents")).values()]
        texts = [f"{CERTAIN} {prompt['display']}", *filter(None, pasted)]
        yield to_seconds(prompt.get("timestamp")), "user", f"prompt-{n}", "\n\n".join(texts)


def _read_pasted(home: Path, part: Any) -> str:
    content, name = as_mapping(part).get("content"), str(as_mapping(part).get("contentHash") or "")
    if isinstance(content, str):
        return f"{CERTAIN} Pasted:\n{content}"
    if _HASH_NAME.fullmatch(name):
        try:
            data = read_regular(home / "paste-cache" / f"{name}.txt", _MAX_FILE_BYTES)
            return f"{CERTAIN} Pasted:\n{from_bytes(data)}"
        except OSError:
            return f"{CERTAIN} Something was pasted here; it is lost."
    return ""


def _list_versions(one: Remains, project: str | None) -> Iterator[_Entry]:
    """The contents of files. A content is certain; its time is that of the copy, and so is its place."""
    names = _find_names({path.name.partition("@")[0] for path in one.versions}, project, one.prompts)
    for path in one.versions:
        hash, _, version = path.name.partition("@v")
        name = names.get(hash)
        what = f"{name}" if name else f"a file whose name is lost ({hash})"
        try:
            at, data = path.stat().st_mtime, read_regular(path, _MAX_FILE_BYTES)
            content = "(not text)" if b"\0" in data else from_bytes(data)
        except OSError as error:
            at, content = _find_beginning(one), f"({error.strerror or error})"
        text = f"{INFERRED} Here a copy (version {version}) of {what} was kept. {CERTAIN} Its content:\n{content}"
        yield at, "system", f"file-{path.name}", text


def _find_names(hashes: set[str], project: str | None, prompts: list[dict[str, Any]]) -> dict[str, str]:
    """The paths with these hashes, among the files of the project and what the prompts name."""
    found: dict[str, str] = {}
    for path in _list_candidates(project, prompts) if hashes else ():
        hash = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:16]
        if hash in hashes:
            found[hash] = path
            if len(found) == len(hashes):
                break
    return found


def _list_candidates(project: str | None, prompts: list[dict[str, Any]]) -> Iterator[str]:
    if not project:
        return
    for prompt in prompts:
        for word in re.findall(r"[\w./~-]{2,300}", str(prompt.get("display", "")))[:200]:
            yield os.path.normpath(os.path.join(project, word.lstrip("@")))  # noqa: PTH118  of another machine, maybe
    number = 0
    for folder, folders, names in os.walk(project):
        folders[:] = [one for one in folders if one not in (".git", "node_modules", ".venv")]
        for name in names:
            number += 1
            if number > _MAX_PATHS:
                return
            yield f"{folder}/{name}"


def _list_tasks(one: Remains) -> Iterator[_Entry]:
    """The last state of the task list, behind everything else that is known of that time."""
    lines, latest = list[str](), 0.0
    for path in one.tasks:
        try:
            data, at = read_regular(path, _MAX_FILE_BYTES), path.stat().st_mtime
        except OSError:
            continue
        latest = max(latest, at)
        lines += [f"- {task} ({state})" for task, state in _read_tasks(data)]
    if lines:
        yield latest, "system", "tasks", "\n".join([f"{CERTAIN} The task list as it was last:", *lines])


def _read_tasks(data: bytes) -> Iterator[tuple[str, str]]:
    records = parse_object(b'{"all": ' + data + b"}")
    found = (records or {}).get("all")
    for task in found if isinstance(found, list) else [found]:
        text = as_text(as_mapping(task).get("subject")) or as_text(as_mapping(task).get("content"))
        if text:
            yield text, str(as_mapping(task).get("status"))


def _find_project(one: Remains) -> str | None:
    return next((found for prompt in one.prompts if (found := as_text(prompt.get("project")))), None)


def _read_title(one: Remains) -> str | None:
    try:
        return as_text((parse_object(read_regular(one.title)) or {}).get("customTitle")) if one.title else None
    except OSError:
        return None


def _find_beginning(one: Remains) -> float:
    times = [to_seconds(prompt.get("timestamp")) for prompt in one.prompts]
    times += [path.stat().st_mtime for path in (*one.versions, *one.tasks) if path.is_file()]
    return min(times, default=0.0)


class RemainsImporter:
    """Imports what is left, only when it is asked for by name. Its sessions are apart from those of Claude Code."""

    name, label = NAME, "Claude Code, rescued"

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._known = tuple(known)

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        return []

    def claims(self, path: Path) -> FoundHistory | None:
        return None

    @contextmanager
    def open(self, home: Path) -> Iterator[RemainsReader]:
        yield RemainsReader(home, self._known)
