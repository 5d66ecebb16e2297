"""Where Claude Code keeps its sessions, and which file is what. Files are looked at, not read.

    projects/<project>/<session>.jsonl                          a session; the name is its id
    projects/<project>/<session>/subagents/agent-<id>.jsonl     its helpers (2.1)
    projects/<project>/agent-<id>.jsonl                         its helpers (later 2.0)
    inside the session's own file, `isSidechain`                its helpers (1.x): one child, `<session>.sidechain`

Not sessions: empty files, files that only hold titles of other sessions, and the helpers that 2.0 warms
up by itself (their one prompt is the word `Warmup`). A fork has no pointer to where it comes from; it
begins with the same record, so the older of two such files is taken for the parent.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sojourn.importers.jsonl import as_object
from sojourn.importers.transcript_builder import seconds
from sojourn.text.escape import from_bytes

_HEAD = 65_536
_TIME = re.compile(rb'"timestamp":\s*"([^"]{10,40})"')
_UUID = re.compile(rb'"uuid":\s*"([^"]+)"')
_VERSION = re.compile(rb'"version":\s*"([^"]+)"')
_SESSION = re.compile(rb'"(?:sessionId|leafUuid|parentUuid)":')
_SUMMARY = re.compile(rb'\{"type":\s*"summary"')
_WARMUP = re.compile(rb'"content":\s*"Warmup"')
_SIDECHAIN = b'"isSidechain":true'
_APART = (2, 0, 40)  # from about here on helpers have files of their own, and no file needs to be searched for them
_INSIDE = ".sidechain"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """One session and where it is. `helper` of the session `parent`; a fork has a parent and is no helper."""

    native_id: str
    path: Path
    fingerprint: str
    began: float = 0.0
    version: str = ""
    first: str = ""  # the id of its first record
    size: int = 0
    helper: bool = False
    is_shared: bool = False  # the file holds a session and its helpers
    parent: str = ""
    problem: str = ""

    @property
    def is_inside(self) -> bool:
        """Whether this is the helpers' part of a file."""
        return self.is_shared and self.helper


def is_session_file(path: Path) -> bool:
    """Whether a file given by the person looks like one of Claude Code's."""
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    try:
        return bool(_SESSION.search(head_of(path)))
    except OSError:
        return True  # then it is told that it cannot be read


def head_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def folders(home: Path) -> list[Path]:
    """The project folders of a home; a single one may be the home itself."""
    projects = home / "projects"
    if projects.is_dir():
        return sorted(place for place in projects.iterdir() if place.is_dir())
    return [home] if home.is_dir() else []


def session_files(home: Path) -> list[SessionFile]:
    """Every session, oldest first; helpers after all others, so that a parent is always known first."""
    if home.is_file():
        return list(_look(home))
    found: dict[str, SessionFile] = {}
    for folder in folders(home):
        for one in _in_folder(folder):
            native = one.native_id if one.native_id not in found else f"{one.native_id}.{folder.name.lstrip('-')}"
            found.setdefault(native, replace(one, native_id=native))
    ordered = sorted(found.values(), key=lambda one: (one.helper, one.began, one.native_id))
    return [*_with_origins(ordered)]


def _in_folder(folder: Path) -> Iterator[SessionFile]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield _broken(folder, error)
        return
    for entry in entries:
        if entry.suffix == ".jsonl":
            yield from _look(entry)
        elif (entry / "subagents").is_dir():
            for path in sorted((entry / "subagents").rglob("agent-*.jsonl")):
                yield from (replace(one, parent=entry.name) for one in _look(path))


def _look(path: Path) -> Iterator[SessionFile]:
    """What a file holds: one session, one and the helpers inside it, or none."""
    try:
        stat, head = path.stat(), head_of(path)
    except OSError as error:
        yield _broken(path, error)
        return
    helper = path.stem.startswith("agent-")
    if not head or _only_titles(head) or (helper and _WARMUP.search(head.split(b"\n", 1)[0])):
        return
    marks = [str(stat.st_size), str(stat.st_mtime_ns)]
    title = custom_title(path)
    if title.is_file():
        marks.append(str(title.stat().st_mtime_ns))
    version = _found(_VERSION, head)
    one = SessionFile(
        native_id=path.stem,
        path=path,
        fingerprint=":".join(marks),
        version=version,
        first=_found(_UUID, head),
        began=seconds(_found(_TIME, head)) or stat.st_mtime,
        helper=helper,
        size=stat.st_size,
    )
    shared = not helper and _is_before(version, _APART) and _has_sidechain(path)
    yield replace(one, is_shared=shared)
    if shared:
        yield replace(one, native_id=path.stem + _INSIDE, is_shared=True, helper=True, parent=path.stem)


def titles_in(path: Path) -> Iterator[dict[str, Any]]:
    """The titles a file begins with; they are those of other sessions."""
    try:
        lines = head_of(path).split(b"\n")
    except OSError:
        return  # it is told with the sessions
    for line in lines:
        record = as_object(line) if _SUMMARY.match(line) else None
        if record is None:
            return
        yield record


def custom_title(path: Path) -> Path:
    """Where the name is kept that a person gave to a session."""
    return path.with_suffix("") / "custom-title.json"


def _broken(path: Path, error: OSError) -> SessionFile:
    why = f"{path} cannot be read: {error.strerror or error}"
    return SessionFile(native_id=path.stem, path=path, fingerprint="", problem=why)


def _only_titles(head: bytes) -> bool:
    lines = [line for line in head.split(b"\n") if line.strip()]
    return len(head) < _HEAD and all(_SUMMARY.match(line) for line in lines)


def _found(pattern: re.Pattern[bytes], head: bytes) -> str:
    hit = pattern.search(head)
    return from_bytes(hit[1]) if hit else ""


def _is_before(version: str, other: tuple[int, ...]) -> bool:
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    return bool(numbers) and numbers < other


def _has_sidechain(path: Path) -> bool:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held:
            return held.find(_SIDECHAIN) >= 0
    except (OSError, ValueError):  # gone or emptied a moment ago
        return False


def _with_origins(ordered: list[SessionFile]) -> Iterator[SessionFile]:
    """Forks get the session they were made from as their parent."""
    origins: dict[str, str] = {}
    for one in ordered:
        if one.helper or not one.first:
            yield one
            continue
        origin = origins.setdefault(one.first, one.native_id)
        yield one if origin == one.native_id else replace(one, parent=origin)
