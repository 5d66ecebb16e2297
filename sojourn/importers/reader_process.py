"""Reads and redacts a foreign history in a process of its own, with a limit of time per session and one of memory.

Only strings come back, so a file that is made to be slow or large costs a session of that history and nothing else.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.regular_file import MAX_FILE_BYTES
from sojourn.ports.importer import FoundHistory, HistoryReader, Importer, SessionEntry, Transcript
from sojourn.processes.limited_worker import LimitedWorker, LimitExceeded
from sojourn.text.message_redaction import redact_message
from sojourn.text.redaction import Redacted, redact

MAX_LIST_SECONDS = 120.0
MAX_SESSION_SECONDS = 60.0
_MEMORY_BYTES = MAX_FILE_BYTES * 4
T = TypeVar("T")
_open: dict[str, tuple[AbstractContextManager[HistoryReader], HistoryReader]] = {}  # in the process that reads


def confine_importer(source: Importer, *, is_redacted: bool) -> Importer:
    """The importer that reads in a process of its own."""
    try:
        pickle.dumps(source)
    except (pickle.PicklingError, AttributeError, TypeError):  # made in a script: another process cannot import it
        return source
    return ProcessImporter(source, is_redacted=is_redacted)


class ProcessImporter:
    """An importer whose histories are read by another process."""

    def __init__(self, source: Importer, *, is_redacted: bool) -> None:
        self.name, self.label, self._source = source.name, source.label, source
        self.store_home: str = getattr(source, "store_home", "")
        self._is_redacted = is_redacted

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        return self._source.find(user_home, environment)

    def claims(self, path: Path) -> FoundHistory | None:
        return self._source.claims(path)

    @contextmanager
    def open(self, home: Path) -> Iterator[HistoryReader]:
        with LimitedWorker(memory_bytes=_MEMORY_BYTES) as worker:
            yield _ProcessReader(worker, self._source, home, _read_redacted if self._is_redacted else _read_session)


class _ProcessReader:
    def __init__(self, worker: LimitedWorker, source: Importer, home: Path, read: Callable[..., Transcript]) -> None:
        self._worker, self._source, self._home, self._read = worker, source, home, read

    def sessions(self) -> Iterator[SessionEntry]:
        yield from self._call(_list_sessions, seconds=MAX_LIST_SECONDS, what=str(self._home))

    def read(self, native_id: str) -> Transcript:
        return self._call(self._read, native_id, seconds=MAX_SESSION_SECONDS, what=f"Session {native_id}")

    def _call(self, function: Callable[..., T], *args: Any, seconds: float, what: str) -> T:
        try:
            return self._worker.call(function, self._source, self._home, *args, seconds=seconds)
        except LimitExceeded as error:
            raise SourceUnreadable(
                f"{what} cannot be read: {error}.", hint="It may be damaged, or made to keep us busy."
            ) from error


def _get_reader(source: Importer, home: Path) -> HistoryReader:
    """The open history; it stays open until the process ends."""
    if str(home) not in _open:
        opened = source.open(home)
        _open[str(home)] = opened, opened.__enter__()
    return _open[str(home)][1]


def _list_sessions(source: Importer, home: Path) -> list[SessionEntry]:
    return list(_get_reader(source, home).sessions())


def _read_session(source: Importer, home: Path, native_id: str) -> Transcript:
    return _get_reader(source, home).read(native_id)


def _read_redacted(source: Importer, home: Path, native_id: str) -> Transcript:
    """Long texts take their time: here, nobody waits for that."""
    read = _read_session(source, home, native_id)
    messages = [redact_message(one, redact) for one in read.messages]
    return replace(read, messages=messages, records=[(kind, Redacted(redact(data))) for kind, data in read.records])
