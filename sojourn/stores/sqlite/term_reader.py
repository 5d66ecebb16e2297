"""Term reader: reads waiting rows with their search terms in a process of its own, one batch ahead of the indexer.

Splitting texts takes most of an indexer's time. Elsewhere it uses a second core, and holds up no turn of this process.
"""

from __future__ import annotations

import sqlite3
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from sojourn.processes.limited_worker import LimitedWorker, LimitExceeded
from sojourn.stores.sqlite.connect import connect
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.index import Entries, read_rows
from sojourn.text.redaction import no_redaction

MIN_ROWS = 2_048  # fewer are read where they are: a process takes a quarter of a second to start
_BATCH_SECONDS, _MEMORY_BYTES = 60.0, 2 << 30
_open: dict[Path, sqlite3.Connection] = {}  # in the process that reads


def _read_entries(path: Path, after: int) -> Entries:
    if path not in _open:
        _open[path] = connect(path, read_only=True)
    return read_rows(SqliteDb(_open[path], no_redaction), after)


class TermReader:
    """Reads batch after batch; `with` ends its process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._worker = LimitedWorker(memory_bytes=_MEMORY_BYTES)
        self._thread = ThreadPoolExecutor(1, "sojourn-terms")
        self._ahead: tuple[int, Future[Entries]] | None = None

    def read(self, after: int) -> Entries:
        """The rows behind a row; while they are inserted, the next ones are read. LimitExceeded."""
        if self._ahead is None or self._ahead[0] != after:
            self._ahead = after, self._submit(after)
        entries = self._ahead[1].result()
        self._ahead = (entries[-1][0], self._submit(entries[-1][0])) if entries else None
        return entries

    def _submit(self, after: int) -> Future[Entries]:
        return self._thread.submit(self._worker.call, _read_entries, self._path, after, seconds=_BATCH_SECONDS)

    def __enter__(self) -> TermReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(cancel_futures=True)
        self._worker.close()


def read_ahead(reader: TermReader | None, after: int) -> Entries | None:
    """The next rows of a reader; None without one, or if it fails."""
    if reader is None:
        return None
    try:
        return reader.read(after)
    except LimitExceeded:
        return None
