"""Codex as a history: where it is found, and which file is which session.

sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl     a session; older than a week also packed, `.zst`
archived_sessions/rollout-…                       a session that was put away
session_index.jsonl                               the names people gave to sessions, the last one counts
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.codex.rollout import NAME, transcript
from sojourn.importers.jsonl import LineFile
from sojourn.importers.transcript_builder import nonempty
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin

_NAME = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(.+?)\.jsonl(\.gz|\.zst)?")
_VERSION = re.compile(rb'"cli_version":\s*"([^"]+)"')
_HEAD = re.compile(rb'"type":\s*"session_meta"|"(?:instructions|record_type)":')
_FOLDERS = ("sessions", "archived_sessions")
_XCODE = Path("Library", "Developer", "Xcode", "CodingAssistant", "codex")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One session and where it is."""

    native_id: str
    path: Path
    began: str = ""
    size: int = 0
    changed: int = 0
    archived: bool = False
    problem: str = ""


def rollouts(home: Path) -> list[Rollout]:
    """Every session, oldest first. Of a file and the same one packed, the file is read."""
    if home.is_file():
        return [_rollout(home)]
    found: dict[str, Rollout] = {}
    for folder in _FOLDERS:
        for path in _below(home / folder, found):
            if ".jsonl" in path.suffixes:
                one = _rollout(path, archived=folder == _FOLDERS[1])
                found.setdefault(one.native_id, one)  # `.jsonl` sorts before `.jsonl.zst`
            elif path.suffix == ".json":
                why = f"{path} is of a Codex older than 0.2, which kept sessions in another form"
                found.setdefault(path.stem, Rollout(path.stem, path, problem=why))
    return sorted(found.values(), key=lambda one: (one.began, one.native_id))


def _below(folder: Path, found: dict[str, Rollout]) -> list[Path]:
    """Every rollout in a folder; a folder in it that cannot be entered is named among those found."""

    def troubled(error: OSError) -> None:
        where = Path(error.filename or folder)
        found[where.name] = Rollout(where.name, where, problem=f"{where} cannot be read: {error.strerror or error}")

    walked = os.walk(folder, onerror=troubled) if folder.is_dir() else ()
    return sorted(Path(place, name) for place, _, names in walked for name in names if name.startswith("rollout-"))


def _rollout(path: Path, *, archived: bool = False) -> Rollout:
    named = _NAME.fullmatch(path.name)
    native, began = (named[2], named[1]) if named else (path.name.partition(".")[0], "")
    try:
        stat = path.stat()
    except OSError as error:
        return Rollout(native, path, began, problem=f"{path} cannot be read: {error.strerror or error}")
    return Rollout(native, path, began, stat.st_size, stat.st_mtime_ns, archived)


class CodexReader:
    """A home of Codex. What is where is looked up once."""

    def __init__(self, home: Path) -> None:
        self._home = home

    @cached_property
    def _rollouts(self) -> dict[str, Rollout]:
        return {one.native_id: one for one in rollouts(self._home)}

    @cached_property
    def _names(self) -> dict[str, str]:
        index = self._home / "session_index.jsonl"
        try:
            records = [line.record for line in LineFile(index)] if index.is_file() else []
        except SourceUnreadable:
            return {}  # a name is lost, no session is
        return {str(one.get("id")): one["thread_name"] for one in records if nonempty(one.get("thread_name"))}

    def sessions(self) -> Iterator[SessionEntry]:
        for one in self._rollouts.values():
            marks = (one.size, one.changed, int(one.archived), self._names.get(one.native_id, ""))
            yield SessionEntry(native_id=one.native_id, fingerprint=":".join(map(str, marks)), problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        one = self._rollouts.get(native_id)
        if one is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        return transcript(native_id, one.path, name=self._names.get(native_id), archived=one.archived)


class Codex:
    """The source."""

    name, label = NAME, "Codex"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        own = environment.get("CODEX_HOME")
        places = [Path(own) if own else user_home / ".codex", user_home / _XCODE]
        return [found for place in places if (found := self._look(place))]

    def claims(self, path: Path) -> FoundHistory | None:
        if path.is_file():
            return self._look(path) if _NAME.fullmatch(path.name) or _is_rollout(path) else None
        return self._look(path.parent if path.name in _FOLDERS else path)

    def _look(self, home: Path) -> FoundHistory | None:
        try:
            found = rollouts(home)
        except OSError as error:
            return FoundHistory(
                source=self.name, home=home, problem=f"{home} cannot be read: {error.strerror or error}."
            )
        if not found:
            return None
        newest = next((one.path for one in reversed(found) if one.path.suffix == ".jsonl"), None)
        hit = _VERSION.search(_opening(newest)) if newest else None
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


def _opening(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _is_rollout(path: Path) -> bool:
    return path.suffix == ".jsonl" and bool(_HEAD.search(_opening(path).split(b"\n", 1)[0]))


plugin = Plugin(name=NAME, summary="Brings in the history of Codex.", sources=[Codex])
