"""The default store: one file, `state.db`, in the home folder."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SojournError, StoreFull, StoreReadOnly, StoreUnavailable
from sojourn.core.events import Yielded
from sojourn.core.sessions import Change, Lease, Recorded, SessionId, TurnId
from sojourn.ports.store import Health, Removed, SearchHit, SearchQuery
from sojourn.ports.store_admin import Progress, StoreStats, VerifyReport
from sojourn.stores.sql import admin, removal
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.migrations import Migration
from sojourn.stores.sql.store import SqlStore
from sojourn.stores.sqlite import index, maintenance
from sojourn.stores.sqlite.connect import connect, disk_full, is_full, is_writable, translate
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.group_commit import Append
from sojourn.stores.sqlite.history import SqliteHistory
from sojourn.stores.sqlite.indexer import Indexer
from sojourn.stores.sqlite.migrate import ensure_schema, load_migrations
from sojourn.stores.sqlite.notify import SqliteNotifier
from sojourn.stores.sqlite.readers import ReaderPool
from sojourn.stores.sqlite.writer import LoopMailbox, WriteLock, Writer, settle
from sojourn.text.escape import from_bytes
from sojourn.text.redaction import Redactor, redact

T = TypeVar("T")
_READER_THREADS = 2
_PROBE_SECONDS = 5.0  # between two writes of the health check
_MAX_UNINDEXED_ROWS = 4000  # that a search reads one by one


class SqliteStore(SqlStore):
    """A store in one SQLite file. Opens on first use; several processes may write to it without a daemon."""

    def __init__(
        self,
        path: Path,
        *,
        redactor: Redactor = redact,
        migrations: list[Migration] | None = None,
        read_only: bool = False,
    ) -> None:
        super().__init__()
        self.path, self.redactor = path, redactor
        self._migrations = migrations
        self._is_forced_read_only = read_only
        self._open_lock = threading.Lock()
        self._is_open = self.read_only = False
        self._disk_full: StoreFull | None = None  # why it is open read-only, if the disk is full
        self._connections: list[sqlite3.Connection] = []  # idle, for reading
        self._readers = ReaderPool(_READER_THREADS)
        self._mailbox = LoopMailbox()
        self._probed_at = float("-inf")  # when a health check has last written
        self._write_lock: WriteLock | None = None
        self._writer: Writer | None = None
        self._indexer: Indexer | None = None
        self._notifier: SqliteNotifier | None = None

    # opening and closing
    def _open(self) -> None:
        with self._open_lock:
            if self._is_open and (self._disk_full is None or is_full(self.path)):
                return
            exists = self.path.exists()
            self.read_only = self._is_forced_read_only or (exists and not is_writable(self.path))
            self._disk_full = None
            try:
                self._open_file()
            except StoreFull as error:
                if not exists:
                    raise
                self._disk_full, self.read_only = error, True  # what is stored can still be read
                self._open_file()
            self._is_open = True

    def _open_file(self) -> None:
        run = self.path.parent / "run"
        migrations = self._migrations or load_migrations()
        try:
            ensure_schema(self.path, migrations, read_only=self.read_only)
            if not self.read_only:
                run.mkdir(mode=0o700, exist_ok=True)
                connection = connect(self.path, read_only=False)
                self._write_lock = WriteLock(run)
                if self.redactor is redact:
                    with self._write_lock.hold():
                        maintenance.redact_kept(self.path, connection)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise disk_full(self.path) from error
            raise StoreUnavailable(
                f"{self.path} cannot be created or opened: {error.strerror}.", hint="Choose a home you may write to."
            ) from error
        self._notifier = self._notifier or SqliteNotifier(run, self.subscribers.wake, self.path)
        if not self.read_only:
            assert self._write_lock
            self._writer = Writer(
                self.path,
                connection,
                migrations[-1][0],
                self._write_lock,
                self._after_commit,
                self._make_db,
                self._mailbox,
            )
            self._indexer = Indexer(self.path, run, self._write_lock, self._make_db)
            if index.read_state(self._make_db(connection)).underived_to:
                self._indexer.nudge()

    def _read_only_error(self) -> SojournError:
        """Returns the reason why the store is read-only."""
        return self._disk_full or StoreReadOnly(
            f"{self.path} can only be read.", hint="Make the file and its folder writable."
        )

    def _make_db(self, connection: sqlite3.Connection) -> SqliteDb:
        return SqliteDb(connection, self.redactor)

    def _after_commit(self, db: SqliteDb) -> None:
        """Runs in the writer thread: wakes subscribers of this process, then notifies other processes."""
        if self._notifier and db.wake_names:
            log_items = {name: items for name, items in db.log_items.items() if name not in db.other_changes}
            self.subscribers.wake(db.wake_names, log_items, self._mailbox.send)
            self._mailbox.deliver()  # before the datagrams, which take longer
            self._notifier.notify(db.wake_names)
        if self._indexer and db.wake_names:
            self._indexer.nudge()

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._readers.close()
        with self._open_lock:
            if not self._is_open:
                return
            self._is_open = False
            if self._indexer:
                self._indexer.close()
            if self._notifier:
                self._notifier.stop_listening()
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            if self._writer:
                self._writer.close()  # after all readers: the last connection checkpoints the write-ahead log
            if self._notifier:
                self._notifier.close()
            self._writer = self._indexer = self._notifier = None

    # transactions
    async def _write(self, work: Callable[[Db], T]) -> T:
        if not self._is_open or self._disk_full:
            await asyncio.to_thread(self._open)
        if self._writer is None:
            raise self._read_only_error()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def on_commit(result: Any, error: BaseException | None) -> None:
            self._mailbox.send(loop, settle, future, result, error)

        self._writer.submit(work, on_commit)
        return await future

    async def _read(self, work: Callable[[Db], T]) -> T:
        result: T = await self._readers.run(partial(self._read_now, work))
        return result

    async def _query(self, work: Callable[[Db], T]) -> T:
        result: T = await self._readers.run(partial(self._read_now, work, is_query=True))
        return result

    def _read_now(self, work: Callable[[Db], T], *, is_query: bool = False) -> T:
        self._open()
        try:
            connection = self._connections.pop()
        except IndexError:
            connection = connect(self.path, read_only=True)
        try:
            return self._read_on(connection, work, is_query)
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise translate(error, self.path) from error
            connection.text_factory = from_bytes  # another program wrote invalid UTF-8: keep the bytes
            return self._read_on(connection, work, is_query)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        finally:
            if self._disk_full:
                connection.close()  # it may be open as immutable, which ignores later writes
            else:
                self._connections.append(connection)

    def _read_on(self, connection: sqlite3.Connection, work: Callable[[Db], T], is_query: bool) -> T:
        if is_query:
            return work(self._make_db(connection))
        connection.execute("BEGIN")
        try:
            return work(self._make_db(connection))
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    # the log
    async def append(self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None) -> list[Recorded]:
        return await self._write(Append(lease, await self.redact(items), turn))

    # search
    async def search(self, search: SearchQuery) -> list[SearchHit]:
        found = await self._read(partial(self._search_indexed, search=search))
        if found is not None:
            return found
        await asyncio.to_thread(self._catch_up, None, complete=False)
        return await self._read(partial(index.search, query=search))

    def _search_indexed(self, db: Db, search: SearchQuery) -> list[SearchHit] | None:
        """None if so many rows wait for the index that they have to be indexed first."""
        state = index.read_state(db)
        is_behind = not self.read_only and index.has_more_waiting(db, state, _MAX_UNINDEXED_ROWS)
        return None if is_behind else index.search(db, search, state)

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        return await asyncio.to_thread(self._catch_up, progress)

    def _catch_up(self, progress: Callable[[int, int], None] | None, *, complete: bool = True) -> int:
        self._open()
        if self._indexer is None:
            raise self._read_only_error()
        return self._indexer.catch_up(progress, complete=complete)

    # change feed
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        rows = await self._read(
            lambda db: db.fetch_all(
                "SELECT n, session_id, kind, at FROM changes WHERE n > ? ORDER BY n LIMIT ?", (after, limit)
            )
        )
        return [Change(row["n"], row["session_id"], row["kind"], row["at"]) for row in rows]

    def _listen(self) -> None:
        self._open()
        if self._notifier:
            self._notifier.listen()

    # deletion
    async def forget(self, session: SessionId) -> Removed:
        removed = await self._write(lambda db: removal.forget_session(db, session))
        remaining = await asyncio.to_thread(self._scrub)
        return replace(removed, backups=maintenance.find_backups(self.path), remaining=remaining)

    def _scrub(self) -> tuple[str, ...]:
        assert self._write_lock
        with self._write_lock.hold():
            return maintenance.scrub(self.path, self._connections)

    def history(self) -> SqliteHistory:
        self._open()
        return SqliteHistory(self.path)

    # maintenance
    async def stats(self, *, by_part: bool = True) -> StoreStats:
        return await self._read(lambda db: maintenance.collect_stats(db, self.path, by_part=by_part))

    async def verify(self, progress: Progress | None = None) -> VerifyReport:
        return await self._read(lambda db: maintenance.verify(db, progress))

    async def backup(self, target: Path, progress: Progress | None = None) -> Path:
        await asyncio.to_thread(self._open)
        return await asyncio.to_thread(maintenance.backup, self.path, target, progress)

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        await self.close()
        await asyncio.to_thread(maintenance.restore, self.path, source, self._migrations or load_migrations(), progress)

    def _probe_write(self, db: Db) -> None:
        """Writes something for real, so that a full or read-only disk shows; at most every few seconds."""
        if is_full(self.path):
            raise disk_full(self.path)
        if not is_writable(self.path):
            raise self._read_only_error()
        if time.monotonic() - self._probed_at > _PROBE_SECONDS:
            db.execute("UPDATE schema_migrations SET at = at WHERE number = 1")
            self._probed_at = time.monotonic()

    async def health(self) -> Health:
        place = str(self.path)
        try:
            await self._read(lambda db: db.fetch_one("SELECT count(*) AS n FROM (SELECT 1 FROM sessions LIMIT 1) q"))
            if self._writer is not None:
                await self._write(self._probe_write)
        except SojournError as error:
            return admin.health_from(error, "degraded", place, readable=self._is_open)
        if self.read_only:
            return admin.health_from(self._read_only_error(), "read-only", place)
        return Health(state="healthy", store=place)
