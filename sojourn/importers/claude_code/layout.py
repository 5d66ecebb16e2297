"""Finds the session files of Claude Code. Reads only the beginning of each file.

    projects/<project>/<session>.jsonl                          a session, named by its id
    projects/<project>/<session>/subagents/agent-<id>.jsonl     its subagents (2.1)
    projects/<project>/agent-<id>.jsonl                         its subagents (later 2.0)
    inside the session's own file, `isSidechain`                its subagents (1.x): one child, `<session>.sidechain`

Not sessions: empty files, files with only titles of other sessions, and the subagents that 2.0 starts in advance
(their only prompt is `Warmup`). A fork does not name its parent; it begins with the same record, so the older of two
such files is the parent. It repeats the answers of those before it, whose usage counts there.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.importers.jsonl import parse_object
from sojourn.importers.regular_file import open_regular, read_head
from sojourn.importers.transcript_builder import to_seconds
from sojourn.text.escape import from_bytes

_HEAD_BYTES = 65_536
_TIME = re.compile(rb'"timestamp":\s*"([^"]{10,40})"')
_UUID = re.compile(rb'"uuid":\s*"([^"]+)"')
_VERSION = re.compile(rb'"version":\s*"([^"]+)"')
_SESSION = re.compile(rb'"(?:sessionId|leafUuid|parentUuid)":')
_SUMMARY = re.compile(rb'\{"type":\s*"summary"')
_WARMUP = re.compile(rb'"content":\s*"Warmup"')
_SIDECHAIN = b'"isSidechain":true'
_SEPARATE_FILES_VERSION = (2, 0, 40)  # since about this version subagents have their own files
_SIDECHAIN_SUFFIX = ".sidechain"
_MAX_INSPECTED = 100_000  # files
_INSPECTED: dict[Path, tuple[tuple[int, ...], list[SessionFile]]] = {}  # for who watches a home; by size and times


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """One session and its file. Subagents and forks have a parent."""

    native_id: str
    path: Path
    fingerprint: str
    began: float = 0.0
    version: str = ""
    first: str = ""  # the id of its first record
    size: int = 0
    is_subagent: bool = False
    is_shared: bool = False  # the file has a session and its subagents
    parent: str = ""
    replayed: tuple[Path, ...] = ()  # the older files of the same beginning
    problem: str = ""

    @property
    def is_sidechain_part(self) -> bool:
        """Whether this is the part of the subagents in a shared file."""
        return self.is_shared and self.is_subagent


def is_session_file(path: Path) -> bool:
    """Whether a file looks like a session of Claude Code."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    try:
        return bool(_SESSION.search(read_head(path, _HEAD_BYTES)))
    except OSError:
        return True  # reading it will report the error


def list_project_folders(home: Path) -> list[Path]:
    """The project folders of a home; a single one may be the home itself."""
    projects = home / "projects"
    if projects.is_dir():
        return sorted(place for place in projects.iterdir() if place.is_dir())
    return [home] if home.is_dir() else []


def list_session_files(home: Path) -> list[SessionFile]:
    """All sessions, oldest first, and subagents last, so that a parent comes before its children."""
    if home.is_file():
        return list(_inspect_file(home))
    found: dict[str, SessionFile] = {}
    for folder in list_project_folders(home):
        for one in _list_folder(folder):
            native = one.native_id if one.native_id not in found else f"{one.native_id}.{folder.name.lstrip('-')}"
            found.setdefault(native, replace(one, native_id=native))
    ordered = sorted(found.values(), key=lambda one: (one.is_subagent, one.began, one.native_id))
    return [*_add_fork_parents(ordered)]


def _list_folder(folder: Path) -> Iterator[SessionFile]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield _to_unreadable(folder, error)
        return
    for entry in entries:
        if entry.suffix == ".jsonl":
            yield from _inspect_file(entry)
        elif (entry / "subagents").is_dir():
            for path in sorted((entry / "subagents").rglob("agent-*.jsonl")):
                yield from (replace(one, parent=entry.name) for one in _inspect_file(path))


def _inspect_file(path: Path) -> list[SessionFile]:
    """The sessions in a file: none, one, or one and its subagents. A file that did not change is not read again."""
    try:
        stat, title = path.stat(), get_title_path(path)
        mark = (stat.st_size, stat.st_mtime_ns, stat.st_ino, title.stat().st_mtime_ns if title.is_file() else 0)
        if (known := _INSPECTED.get(path)) is not None and known[0] == mark:
            return known[1]
        found = list(_read_sessions(path, stat, read_head(path, _HEAD_BYTES)))
    except OSError as error:
        return [_to_unreadable(path, error)]
    if len(_INSPECTED) >= _MAX_INSPECTED:
        _INSPECTED.clear()
    _INSPECTED[path] = (mark, found)
    return found


def _read_sessions(path: Path, stat: os.stat_result, head: bytes) -> Iterator[SessionFile]:
    is_subagent = path.stem.startswith("agent-")
    if not head or _has_only_titles(head) or (is_subagent and _WARMUP.search(head.split(b"\n", 1)[0])):
        return
    marks = [str(stat.st_size), str(stat.st_mtime_ns)]
    title = get_title_path(path)
    if title.is_file():
        marks.append(str(title.stat().st_mtime_ns))
    version = _search_text(_VERSION, head)
    one = SessionFile(
        native_id=path.stem,
        path=path,
        fingerprint=":".join(marks),
        version=version,
        first=_search_text(_UUID, head),
        began=to_seconds(_search_text(_TIME, head)) or stat.st_mtime,
        is_subagent=is_subagent,
        size=stat.st_size,
    )
    shared = not is_subagent and _is_before(version, _SEPARATE_FILES_VERSION) and _has_sidechain(path)
    yield replace(one, is_shared=shared)
    if shared:
        yield replace(one, native_id=path.stem + _SIDECHAIN_SUFFIX, is_shared=True, is_subagent=True, parent=path.stem)


def read_titles(path: Path) -> Iterator[dict[str, Any]]:
    """The title records at the beginning of a file; they belong to other sessions."""
    try:
        lines = read_head(path, _HEAD_BYTES).split(b"\n")
    except OSError:
        return  # reported when the sessions are listed
    for line in lines:
        record = parse_object(line) if _SUMMARY.match(line) else None
        if record is None:
            return
        yield record


def get_title_path(path: Path) -> Path:
    """The file with the title that a person gave to a session."""
    return path.with_suffix("") / "custom-title.json"


def _to_unreadable(path: Path, error: OSError) -> SessionFile:
    why = f"{path} cannot be read: {error.strerror or error}"
    return SessionFile(native_id=path.stem, path=path, fingerprint="", problem=why)


def _has_only_titles(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line.strip()]
    return len(head) < _HEAD_BYTES and all(_SUMMARY.match(line) for line in lines)


def _search_text(pattern: re.Pattern[bytes], head: bytes) -> str:
    hit = pattern.search(head)
    return from_bytes(hit[1]) if hit else ""


def _is_before(version: str, other: tuple[int, ...]) -> bool:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    return bool(numbers) and numbers < other


def _has_sidechain(path: Path) -> bool:
    try:
        with open_regular(path) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(_SIDECHAIN) >= 0
    except (OSError, ValueError):  # deleted or emptied meanwhile
        return False


def _add_fork_parents(ordered: list[SessionFile]) -> Iterator[SessionFile]:
    """Sets the parent of forks, and which files each repeats."""
    families: dict[str, list[SessionFile]] = {}
    replayed: dict[Path, tuple[Path, ...]] = {}
    for one in ordered:
        if one.is_subagent or not one.first:
            yield _to_fork(one, replayed.get(one.path, ()))
            continue
        family = families.setdefault(one.first, [])
        replayed[one.path] = tuple(older.path for older in family)
        parent = family[0].native_id if family else one.parent
        family.append(one)
        yield _to_fork(replace(one, parent=parent), replayed[one.path])


def _to_fork(one: SessionFile, replayed: tuple[Path, ...]) -> SessionFile:
    """The session with what it repeats, which counts as a change: what it used itself is then another number."""
    return replace(one, replayed=replayed, fingerprint=f"{one.fingerprint}:fork") if replayed else one
