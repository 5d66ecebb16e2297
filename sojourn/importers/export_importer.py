"""The base of importers of exports: a file that a person downloaded, with all conversations in one JSON array.

The array is read element by element, so that memory holds one conversation. The file may be inside a ZIP archive or in
an unpacked folder. Exports have no usual place: a person names them.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import re
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import SEEK_END
from pathlib import Path
from typing import IO, Any, BinaryIO, ClassVar

from sojourn.importers.history_importer import StoredSession, StoredSessionReader, order_sessions
from sojourn.importers.regular_file import MAX_FILE_BYTES, MAX_LINE_BYTES, open_regular
from sojourn.ports.importer import FoundHistory, Transcript
from sojourn.processes.limited_worker import LimitExceeded, run_limited
from sojourn.text.escape import to_bytes

MAX_EXPORT_BYTES = MAX_FILE_BYTES * 4  # of all files of an export, after decompression
_PIECE_BYTES = 1 << 20
_COUNT_SECONDS = 20.0  # then what was counted so far is told
_CLAIM_SECONDS = 60.0
_CLAIM_MEMORY_BYTES = MAX_FILE_BYTES * 4
_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
_SPACE_OR_COMMA = re.compile(r"[\s,]*")
_START = re.compile(r'\ufeff?\s*(?:\{\s*"(?:conversations|chats|data)"\s*:\s*)?\[')


def iterate_array(file: BinaryIO) -> Iterator[str]:
    """The texts of the objects of a JSON array, one after the other. ValueError where it is damaged or ends."""
    decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
    scan, text, size, piece = json.JSONDecoder().raw_decode, "", 0, _PIECE_BYTES
    is_started = is_over = False
    while True:
        raw = file.read(piece)
        size, is_over = size + len(raw), not raw
        if size > MAX_FILE_BYTES:
            raise ValueError(f"it holds more than {MAX_FILE_BYTES >> 20} MB")
        text, at = text + decode(raw, is_over), 0
        if not is_started:
            found = _START.match(text)
            if found is None:
                raise ValueError("it is not a list of conversations")
            is_started, at = True, found.end()
        while True:
            start = _find_next(text, at)
            if text[start : start + 1] == "]":
                return
            try:
                _, at = scan(text, start)
            except ValueError as error:
                if is_over:
                    raise ValueError(f"it ends early or is damaged ({error})") from None
                break
            except RecursionError:
                raise ValueError("it is nested too deeply") from None
            yield text[start:at]
            piece = _PIECE_BYTES
        text = text[start:]
        piece = max(_PIECE_BYTES, len(text))  # a long element is tried again only after it has doubled
        if len(text) > MAX_LINE_BYTES:
            raise ValueError(f"a conversation is longer than {MAX_LINE_BYTES >> 20} MB, or damaged")


def _find_next(text: str, at: int) -> int:
    found = _SPACE_OR_COMMA.match(text, at)
    return found.end() if found else at


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of an export: on the disk, or in an archive."""

    path: Path
    name: str = ""  # in the archive

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with open_regular(self.path) as file:
            if not self.name:
                yield file
                return
            with zipfile.ZipFile(file) as archive, archive.open(self.name) as inner:
                yield inner  # type: ignore[misc]


class ExportImporter:
    """The base of importers of exports."""

    name: str
    label: str
    file_pattern: ClassVar[str] = r"conversations(?:-\d+)?\.json"

    def is_conversation(self, record: Mapping[str, Any]) -> bool:
        """Whether an element of the array is a conversation of this program."""
        raise NotImplementedError

    def get_id(self, record: Mapping[str, Any]) -> str | None:
        raise NotImplementedError

    def read_conversation(self, native_id: str, record: dict[str, Any]) -> Transcript:
        raise NotImplementedError

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        return []

    def claims(self, path: Path) -> FoundHistory | None:
        """Reads the whole export once, to count; damage behind the first conversation is reported by the import."""
        try:
            if not self._list_members(path):
                return None
            count, size = run_limited(
                _count_conversations, self, path, seconds=_CLAIM_SECONDS, memory_bytes=_CLAIM_MEMORY_BYTES
            )
        except LimitExceeded as error:
            return FoundHistory(source=self.name, home=path, problem=f"{path} cannot be read: {error}.")
        except OSError:
            return None
        return FoundHistory(source=self.name, home=path, sessions=count, bytes=size) if count else None

    def count_conversations(self, path: Path) -> tuple[int, int]:
        """How many there are, and the size of their files; none if the first one is another program's. OSError."""
        count, size, until = 0, 0, time.monotonic() + _COUNT_SECONDS
        for member in self._list_members(path):
            size += member.path.stat().st_size
            for text in _iterate_until_damage(member):
                if not count and not self._is_conversation(text):
                    return 0, 0
                count += 1
                if time.monotonic() > until:
                    return count, size
        return count, size

    def _is_conversation(self, text: str) -> bool:
        record = json.loads(text)
        return isinstance(record, dict) and self.is_conversation(record)

    def _list_members(self, home: Path) -> list[_Member]:
        pattern = re.compile(self.file_pattern)
        if home.is_dir():
            return [_Member(path) for path in sorted(home.glob("*.json")) if pattern.fullmatch(path.name)]
        if home.suffix == ".json":
            return [_Member(home)]
        if home.suffix != ".zip" or not home.is_file():
            return []
        try:
            with open_regular(home) as file, zipfile.ZipFile(file) as archive:
                names = [name for name in archive.namelist() if pattern.fullmatch(name.rpartition("/")[2])]
        except _ZIP_ERRORS:
            return []
        return [_Member(home, name) for name in sorted(names)]

    @contextmanager
    def open(self, home: Path) -> Iterator[StoredSessionReader]:
        with tempfile.TemporaryFile(prefix="sojourn-export-") as unpacked:  # has no name: nothing is left behind
            places: dict[str, tuple[int, int]] = {}

            def read(one: StoredSession) -> Transcript:
                start, length = places[one.native_id]
                unpacked.seek(start)
                record = json.loads(unpacked.read(length))
                return self.read_conversation(one.native_id, record)

            yield StoredSessionReader(lambda: order_sessions(self._unpack(home, unpacked, places)), read)

    def _unpack(self, home: Path, out: IO[bytes], places: dict[str, tuple[int, int]]) -> Iterator[StoredSession]:
        """Copies each conversation, so that any of them can be read by itself."""
        for member in self._list_members(home):
            if out.tell() > MAX_EXPORT_BYTES:
                why = f"{home.name} is more than {MAX_EXPORT_BYTES >> 20} MB unpacked; the rest of it is left out"
                yield StoredSession(native_id=home.name, path=home, problem=why)
                return
            number, where = 0, member.name or member.path.name
            try:
                with member.open() as file:
                    for number, text in enumerate(iterate_array(file), 1):
                        yield self._add_copy(out, text, places, f"{where}#{number}", home)
            except (OSError, ValueError, *_ZIP_ERRORS) as error:
                why = f"{where} cannot be read after {number} conversations: {error}"
                yield StoredSession(native_id=where, path=home, problem=why)

    def _add_copy(
        self, out: IO[bytes], text: str, places: dict[str, tuple[int, int]], where: str, home: Path
    ) -> StoredSession:
        record = json.loads(text)
        native = self.get_id(record) if isinstance(record, dict) and self.is_conversation(record) else None
        if native is None:
            return StoredSession(native_id=where, path=home, problem=f"{where} is not a conversation")
        copy = to_bytes(text)
        places.setdefault(native, (out.seek(0, SEEK_END), len(copy)))
        out.write(copy)
        mark = hashlib.sha256(copy).hexdigest()[:24]
        return StoredSession(native_id=native, path=home, fingerprint=mark, began=self.get_start(record))

    def get_start(self, record: Mapping[str, Any]) -> float:
        raise NotImplementedError


def _count_conversations(source: ExportImporter, path: Path) -> tuple[int, int]:
    return source.count_conversations(path)


def _iterate_until_damage(member: _Member) -> Iterator[str]:
    try:
        with member.open() as file:
            yield from iterate_array(file)
    except (ValueError, *_ZIP_ERRORS):
        return
