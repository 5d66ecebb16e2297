"""Our own export: JSON lines of `sojourn sessions export`, written here or on another machine.

Each line is a session with its messages; with `--files`, lines with its files follow. A session is known by its id, not
by the file it came in: two exports of one session are the same session.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.jsonl import JsonLinesFile, read_line_at
from sojourn.importers.regular_file import MAX_FILE_BYTES, open_regular, read_head
from sojourn.importers.transcript_builder import as_list, as_text
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin
from sojourn.text.jsonl_export import FILE, parse_message, parse_session

NAME = "sojourn"
_HEAD_BYTES = 65_536
_MAX_LINE_BYTES = 128 << 20  # a file of 50 MB, or a very long session
_SESSION_LINE = re.compile(rb'\s*\{\s*"id":\s*"[^"]+",\s*"source":')
_OWN_KEYS = (b'"last_seq"', b'"driver"', b'"copied"')
_LOCAL = ("handoff_state", "handoff_platform", "handoff_error", "trashed_at")  # of the store it came from


@dataclass(slots=True)
class _Place:
    """Where a session is: its line, and those of its files."""

    path: Path
    offset: int
    began: str = ""
    parent: str = ""
    marks: list[str] = field(default_factory=list)
    files: list[int] = field(default_factory=list)


class ExportReader:
    """Reads the exports in a file or folder; reads each file once to list its sessions."""

    def __init__(self, home: Path) -> None:
        self._paths = list_exports(home)
        self._problems: list[SessionEntry] = []

    @cached_property
    def _places(self) -> dict[str, _Place]:
        found: dict[str, _Place] = {}
        for path in self._paths:
            lines = JsonLinesFile(path, max_line_bytes=_MAX_LINE_BYTES)
            try:
                for line in lines:
                    _add_place(found, path, line.offset, line.text, line.record)
            except SourceUnreadable as error:
                self._problems.append(SessionEntry(native_id=path.name, fingerprint="", problem=str(error)))
                continue
            self._problems += [
                SessionEntry(native_id=f"{path.name}#{number}", fingerprint="", problem=why)
                for number, why in enumerate(lines.warnings, 1)
            ]
        return found

    def sessions(self) -> Iterator[SessionEntry]:
        places = self._places
        yield from self._problems
        seen: set[str] = set()
        for native in sorted(places, key=lambda one: (places[one].began, one)):
            for one in _list_with_ancestors(native, places):
                if one not in seen:
                    seen.add(one)
                    yield SessionEntry(native_id=one, fingerprint=":".join(places[one].marks))

    def read(self, native_id: str) -> Transcript:
        place = self._places.get(native_id)
        if place is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the export.", hint="The file was changed.")
        shape = read_line_at(place.path, place.offset, _MAX_LINE_BYTES)
        columns = {name: value for name, value in parse_session(shape).items() if name not in _LOCAL}
        said = [one for one in as_list(shape.get("messages")) if isinstance(one, dict)]
        files, warnings = self._read_files(place)
        own = {"numbers": [one.get("seq") for one in said], "files": files}
        if str(columns.get("branched_from") or "").rpartition(":")[0] not in self._places:
            own |= {"branched_from": None, "copied": 0}  # its copies belong to a session that is not here
        messages = [parse_message(one) for one in said]
        return Transcript(native_id=native_id, fields={**columns, **own}, messages=messages, warnings=tuple(warnings))

    def _read_files(self, place: _Place) -> tuple[list[tuple[str, str, bytes]], list[str]]:
        found, warnings = list[tuple[str, str, bytes]](), list[str]()
        for offset in place.files:
            shape = read_line_at(place.path, offset, _MAX_LINE_BYTES)
            name = as_text(shape.get("name")) or ""
            try:
                data = base64.b64decode(as_text(shape.get("data")) or "", validate=True)
            except (binascii.Error, ValueError):
                data = b""
            if hashlib.sha256(data).hexdigest() != shape.get("hash"):
                warnings.append(f"the file {name or shape.get('hash')!r} is damaged; it is left out")
                continue
            found.append((name, as_text(shape.get("media_type")) or "application/octet-stream", data))
        return found, warnings


def _add_place(found: dict[str, _Place], path: Path, offset: int, text: str, record: dict[str, Any]) -> None:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    if record.get("type") == FILE:
        if place := found.get(str(record.get("session"))):
            place.files.append(offset)
            place.marks.append(mark)
    elif (own := as_text(record.get("id"))) and isinstance(record.get("messages"), list):
        began, parent = as_text(record.get("started_at")) or "", as_text(record.get("parent_session_id")) or ""
        found[own] = _Place(path, offset, began, parent, [mark])  # of two lines about a session the later one counts


def _list_with_ancestors(native: str, places: Mapping[str, _Place]) -> list[str]:
    """A session behind its ancestors."""
    chain: list[str] = []
    while native in places and native not in chain:
        chain.append(native)
        native = places[native].parent
    return chain[::-1]


def list_exports(home: Path) -> list[Path]:
    """The files of a home that are exports: the home itself, or files of the folder."""
    paths = [home] if home.is_file() else sorted(home.glob("*.jsonl")) if home.is_dir() else []
    return [path for path in paths if path.suffix == ".jsonl" and _is_export(path)]


def _is_export(path: Path) -> bool:
    try:
        head = read_head(path, _HEAD_BYTES)
    except OSError:
        return False
    return bool(_SESSION_LINE.match(head)) and all(key in head for key in _OWN_KEYS)


def _count_sessions(path: Path) -> int:
    """Counts the lines that begin as a session does, without parsing any."""
    count, size, is_start = 0, 0, True
    with open_regular(path) as file:
        while (piece := file.readline(_HEAD_BYTES)) and size < MAX_FILE_BYTES:
            count += is_start and bool(_SESSION_LINE.match(piece))
            size, is_start = size + len(piece), piece.endswith(b"\n")
    return count


class SojournImporter:
    """Imports exports of Sojourn, which have no usual place."""

    name, label = NAME, "Sojourn export"
    store_home = "export"  # under which imports are remembered, whatever file a session came in

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        return []

    def claims(self, path: Path) -> FoundHistory | None:
        try:
            paths = list_exports(path)
            sessions = sum(map(_count_sessions, paths))
            size = sum(one.stat().st_size for one in paths)
        except OSError as error:
            return FoundHistory(source=NAME, home=path, problem=f"{path} cannot be read: {error.strerror or error}.")
        return FoundHistory(source=NAME, home=path, sessions=sessions, bytes=size) if paths else None

    @contextmanager
    def open(self, home: Path) -> Iterator[ExportReader]:
        yield ExportReader(home)


plugin = Plugin(
    name="sojourn-export", summary="Imports what `sojourn sessions export` wrote.", sources=[SojournImporter]
)
