"""The importer for Codex: finds its homes and the rollout of each session.

sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl     a session; after a week also compressed, `.zst`
archived_sessions/rollout-…                       an archived session
session_index.jsonl                               titles that people gave to sessions; the last one counts
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from stat import S_ISREG

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.codex.rollout import NAME, read_rollout
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.regular_file import read_head
from sojourn.importers.transcript_builder import as_text
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin

_NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(.+?)\.jsonl(\.gz|\.zst)?")
_VERSION = re.compile(rb'"cli_version":\s*"([^"]+)"')
_FIRST_LINE = re.compile(rb'"type":\s*"session_meta"|"(?:instructions|record_type)":')
_FOLDERS = ("sessions", "archived_sessions")
_XCODE = Path("Library", "Developer", "Xcode", "CodingAssistant", "codex")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One session and its file."""

    native_id: str
    path: Path
    began: str = ""
    size: int = 0
    changed: int = 0
    archived: bool = False
    problem: str = ""


def list_rollouts(home: Path) -> list[Rollout]:
    """All sessions, oldest first. An uncompressed file wins over its compressed copy."""
    if home.is_file():
        return [_inspect_file(home)]
    found: dict[str, Rollout] = {}
    for folder in _FOLDERS:
        for path in _list_files(home / folder, found):
            if ".jsonl" in path.suffixes:
                one = _inspect_file(path, archived=folder == _FOLDERS[1])
                found.setdefault(one.native_id, one)  # `.jsonl` sorts before `.jsonl.zst`
            elif path.suffix == ".json":
                why = f"{path} was written by a Codex older than 0.2, which used another format"
                found.setdefault(path.stem, Rollout(path.stem, path, problem=why))
    return sorted(found.values(), key=lambda one: (one.began, one.native_id))


def _list_files(folder: Path, found: dict[str, Rollout]) -> list[Path]:
    """All rollouts below a folder; an unreadable subfolder is added to `found` as a problem."""

    def add_problem(error: OSError) -> None:
        where = Path(error.filename or folder)
        found[where.name] = Rollout(where.name, where, problem=f"{where} cannot be read: {error.strerror or error}")

    walked = os.walk(folder, onerror=add_problem) if folder.is_dir() else ()
    return sorted(Path(place, name) for place, _, names in walked for name in names if name.startswith("rollout-"))


def _inspect_file(path: Path, *, archived: bool = False) -> Rollout:
    named = _NAME.fullmatch(path.name)
    native, began = (named[2], named[1]) if named else (path.name.partition(".")[0], "")
    try:
        stat = path.stat()
        if not S_ISREG(stat.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
    except OSError as error:
        return Rollout(native, path, began, problem=f"{path} cannot be read: {error.strerror or error}")
    return Rollout(native, path, began, stat.st_size, stat.st_mtime_ns, archived)


class CodexReader:
    """Reads a home of Codex; lists its files once."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @cached_property
    def _rollouts(self) -> dict[str, Rollout]:
        return {one.native_id: one for one in list_rollouts(self._home)}

    @cached_property
    def _names(self) -> dict[str, str]:
        index = self._home / "session_index.jsonl"
        try:
            records = [line.record for line in JsonLinesFile(index)] if index.is_file() else []
        except SourceUnreadable:
            return {}  # titles are lost, sessions are not
        return {str(one.get("id")): one["thread_name"] for one in records if as_text(one.get("thread_name"))}

    def sessions(self) -> Iterator[SessionEntry]:
        for one in self._rollouts.values():
            marks = (one.size, one.changed, int(one.archived), self._names.get(one.native_id, ""))
            yield SessionEntry(native_id=one.native_id, fingerprint=":".join(map(str, marks)), problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        one = self._rollouts.get(native_id)
        if one is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        name = self._names.get(native_id)
        return read_rollout(native_id, one.path, name=name, archived=one.archived, find_path=self._find_path)

    def _find_path(self, native_id: str) -> Path | None:
        found = self._rollouts.get(native_id)
        return found.path if found and not found.problem else None


class CodexImporter:
    """Imports sessions of Codex."""

    name, label = NAME, "Codex"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        own = environment.get("CODEX_HOME")
        places = [Path(own) if own else user_home / ".codex", user_home / _XCODE]
        return [found for place in places if (found := self._inspect(place))]

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._inspect(path) if _NAME.fullmatch(path.name) or _is_rollout(path) else None
        return self._inspect(path.parent if path.name in _FOLDERS else path)

    def _inspect(self, home: Path) -> FoundHistory | None:
        try:
            found = list_rollouts(home)
        except OSError as error:
            return FoundHistory(
                source=self.name, home=home, problem=f"{home} cannot be read: {error.strerror or error}."
            )
        if not found:
            return None
        newest = next((one.path for one in reversed(found) if one.path.suffix == ".jsonl"), None)
        hit = _VERSION.search(_read_head(newest)) if newest else None
        return FoundHistory(
            source=self.name,
            home=home,
            sessions=len(found),
            bytes=sum(one.size for one in found),
            version=hit[1].decode("ascii", "replace") if hit else "",
            problem=found[0].problem if all(one.problem for one in found) else "",
        )

    @contextmanager
    def open(self, home: Path) -> Iterator[CodexReader]:
        if not home.is_file() and not any((home / folder).is_dir() for folder in _FOLDERS):
            raise SourceUnreadable(
                f"There are no sessions of Codex in {home}.", hint="Give its home, usually ~/.codex."
            )
        yield CodexReader(home)


def _read_head(path: Path) -> bytes:
    try:
        return read_head(path, 4096)
    except OSError:
        return b""


def _is_rollout(path: Path) -> bool:
    return path.suffix == ".jsonl" and bool(_FIRST_LINE.search(_read_head(path).split(b"\n", 1)[0]))


plugin = Plugin(name=NAME, summary="Imports the history of Codex.", sources=[CodexImporter])
