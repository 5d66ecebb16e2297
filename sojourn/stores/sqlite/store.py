"""The default store: one file, `state.db`, in the home folder."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SojournError, StoreFull, StoreReadOnly, StoreUnavailable
from sojourn.core.events import Yielded
from sojourn.core.health import Health
from sojourn.core.sessions import Change, Lease, Recorded, SessionId, TurnId
from sojourn.ports.admin import Progress, StoreStats, VerifyReport
from sojourn.ports.store import Removed, SearchHit, SearchQuery, SideWrites
from sojourn.stores.sql import admin, removal
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.search import search
from sojourn.stores.sql.store import SqlStore
from sojourn.stores.sqlite import index, upkeep
from sojourn.stores.sqlite.bell import Bell
from sojourn.stores.sqlite.connect import connect, full, is_full, is_writable, translate
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.history import SqliteHistory
from sojourn.stores.sqlite.indexer import Indexer
from sojourn.stores.sqlite.migrate import Migration, ensure, known_migrations
from sojourn.stores.sqlite.readers import Readers
from sojourn.stores.sqlite.together import Append
from sojourn.stores.sqlite.writer import Post, Turnstile, Writer
from sojourn.text.escape import from_bytes
from sojourn.text.redaction import Redactor, redact

T = TypeVar("T")
_READERS = 2
_TAIL = 4000  # rows not yet indexed that a search reads one by one


class SqliteStore(SqlStore):
    """Opens on first use; several processes may write one file, and no daemon is needed for it."""

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
        self._asked_read_only = read_only
        self._opening = threading.Lock()
        self._is_open = self.read_only = False
        self._full: StoreFull | None = None  # opened to read only, for want of room
        self._readers: list[sqlite3.Connection] = []
        self._reading = Readers(self._read_now, _READERS)
        self._post = Post()
        self._turnstile: Turnstile | None = None
        self._writer: Writer | None = None
        self._indexer: Indexer | None = None
        self._bell: Bell | None = None

    # opening and closing
    def _open(self) -> None:
        with self._opening:
            if self._is_open and (self._full is None or is_full(self.path)):
                return
            exists = self.path.exists()
            self.read_only = self._asked_read_only or (exists and not is_writable(self.path))
            self._full = None
            try:
                self._open_file()
            except StoreFull as error:
                if not exists:
                    raise
                self._full, self.read_only = error, True  # what is kept can still be read
                self._open_file()
            self._is_open = True

    def _open_file(self) -> None:
        run = self.path.parent / "run"
        try:
            ensure(self.path, self._migrations or known_migrations(), read_only=self.read_only)
            if not self.read_only:
                run.mkdir(mode=0o700, exist_ok=True)
                connection = connect(self.path, read_only=False)
                self._turnstile = Turnstile(run)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise full(self.path) from error
            raise StoreUnavailable(
                f"{self.path} cannot be made or opened: {error.strerror}.", hint="Choose a home you may write to."
            ) from error
        self._bell = self._bell or Bell(run, self.waiters.wake, self.path)
        if not self.read_only:
            assert self._turnstile
            self._writer = Writer(self.path, connection, self._turnstile, self._after_commit, self._dress, self._post)
            self._indexer = Indexer(self.path, run, self._turnstile, self._dress)

    def _refusal(self) -> SojournError:
        """Why nothing can be written."""
        return self._full or StoreReadOnly(
            f"{self.path} can only be read.", hint="Make the file and its folder writable."
        )

    def _dress(self, connection: sqlite3.Connection) -> SqliteDb:
        return SqliteDb(connection, self.redactor)

    def _after_commit(self, db: SqliteDb) -> None:
        """In the writer's thread: tells those who wait here, then those in other processes."""
        if self._bell and db.touched:
            grown = {name: kept for name, kept in db.kept.items() if name not in db.stirred}
            self.waiters.tell(db.touched, grown, self._post.send)
            self._post.deliver()  # here first: ringing takes its time
            self._bell.ring(db.touched)
        if self._indexer and db.touched:
            self._indexer.nudge()

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reading.close()
        with self._opening:
            if not self._is_open:
                return
            self._is_open = False
            if self._indexer:
                self._indexer.close()
            if self._bell:
                self._bell.stop_listening()
            for reader in self._readers:
                reader.close()
            self._readers.clear()
            if self._writer:
                self._writer.close()  # after all who read: only then can it fold the log into the file
            if self._bell:
                self._bell.close()
            self._writer = self._indexer = self._bell = None

    # transactions
    async def _write(self, work: Callable[[Db], T]) -> T:
        if not self._is_open or self._full:
            await asyncio.to_thread(self._open)
        if self._writer is None:
            raise self._refusal()
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[T] = loop.create_future()

        def settle(result: T, error: BaseException | None) -> None:
            if waiting.done():
                return  # whoever asked has gone away; what was written stays written
            if error is not None:
                waiting.set_exception(error)
            else:
                waiting.set_result(result)

        def answer(result: Any, error: BaseException | None) -> None:
            self._post.send(loop, settle, result, error)

        self._writer.submit(work, answer)
        return await waiting

    async def _read(self, work: Callable[[Db], T]) -> T:
        found: T = await self._reading.ask(work)
        return found

    def _read_now(self, work: Callable[[Db], T]) -> T:
        self._open()
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = connect(self.path, read_only=True)
        try:
            return self._ask(connection, work)
        except sqlite3.OperationalError as error:
            if "decode to UTF-8" not in str(error):
                raise translate(error, self.path) from error
            connection.text_factory = from_bytes  # somebody else wrote bytes that are no text: keep them
            return self._ask(connection, work)
        except sqlite3.Error as error:
            raise translate(error, self.path) from error
        finally:
            if self._full:
                connection.close()  # it may have been opened as if nobody ever wrote
            else:
                self._readers.append(connection)

    def _ask(self, connection: sqlite3.Connection, work: Callable[[Db], T]) -> T:
        connection.execute("BEGIN")
        try:
            return work(self._dress(connection))
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    # the log
    async def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, along: SideWrites | None = None
    ) -> list[Recorded]:
        return await self._write(Append(lease, items, turn, along))

    # search
    async def _search(self, asked: SearchQuery) -> list[SearchHit]:
        if await self._read(index.waiting_more_than(_TAIL)) and not self.read_only:
            await self.index()
        return await self._read(lambda db: search(db, asked, index.lookup, indexed_to=index.indexed_to(db)))

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        await asyncio.to_thread(self._open)
        if self._indexer is None:
            raise self._refusal()
        return await asyncio.to_thread(self._indexer.catch_up, progress)

    # the feed
    async def _changes(self, after: int, limit: int) -> list[Change]:
        rows = await self._read(
            lambda db: db.all(
                "SELECT n, session_id, kind, at FROM changes WHERE n > ? ORDER BY n LIMIT ?", (after, limit)
            )
        )
        return [Change(row["n"], row["session_id"], row["kind"], row["at"]) for row in rows]

    def _listen(self) -> None:
        self._open()
        if self._bell:
            self._bell.listen()

    # taking away
    async def delete(self, session: SessionId, *, lease: Any = None) -> Removed:
        def work(db: Db) -> Removed:
            index.drop(db, removal.family(db, session))
            return removal.delete(db, session, lease)

        return await self._write(work)

    async def forget(self, session: SessionId) -> Removed:
        def work(db: Db) -> Removed:
            index.drop(db, removal.family(db, session))
            return removal.forget(db, session)

        removed = await self._write(work)
        left = await asyncio.to_thread(self._scrub)
        return replace(removed, backups=upkeep.backups_of(self.path), left=left)

    def _scrub(self) -> tuple[str, ...]:
        assert self._turnstile
        with self._turnstile.through():
            return upkeep.scrub(self.path, self._readers)

    def history(self) -> SqliteHistory:
        self._open()
        return SqliteHistory(self.path)

    # moving
    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def work(db: Db) -> None:
            admin.import_rows(db, table, rows)
            if table == "messages":
                index.forget_rows_before(db, min(row[0] for row in rows))

        if rows:
            await self._write(work)

    # looking after
    async def stats(self) -> StoreStats:
        return await self._read(lambda db: upkeep.stats(db, self.path))

    async def verify(self, progress: Progress | None = None) -> VerifyReport:
        return await self._read(lambda db: upkeep.verify(db, progress))

    async def backup(self, target: Path, progress: Progress | None = None) -> Path:
        await asyncio.to_thread(self._open)
        return await asyncio.to_thread(upkeep.backup, self.path, target, progress)

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        await self.close()
        await asyncio.to_thread(upkeep.restore, self.path, source, self._migrations or known_migrations(), progress)

    async def health(self) -> Health:
        place = str(self.path)
        try:
            await self._read(lambda db: db.one("SELECT count(*) AS n FROM (SELECT 1 FROM sessions LIMIT 1) q"))
            if self._writer is not None:
                await self._write(lambda db: None)
        except SojournError as error:
            return Health(
                state="degraded",
                store=place,
                readable=self._is_open,
                code=error.code,
                error=str(error),
                hint=error.hint,
            )
        if self._full:
            return Health(
                state="read-only", store=place, code=self._full.code, error=str(self._full), hint=self._full.hint
            )
        if self.read_only:
            return Health(
                state="read-only",
                store=place,
                code="store_read_only",
                error=f"{self.path} can only be read.",
                hint="Make the file and its folder writable to go on writing.",
            )
        return Health(state="healthy", store=place)
