"""The store for more than one machine: a PostgreSQL database."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import BadInput, SojournError
from sojourn.core.events import Yielded
from sojourn.core.sessions import Change, Lease, Recorded, SessionId, TurnId
from sojourn.ports.store import Health, Removed, SearchHit, SearchQuery
from sojourn.ports.store_admin import Progress, StoreStats, VerifyReport
from sojourn.stores.postgres import feed, index, maintenance
from sojourn.stores.postgres.connect import PostgresAddress
from sojourn.stores.postgres.db import QUERY, READ, WRITE, PostgresDb
from sojourn.stores.postgres.documents import PostgresDocuments
from sojourn.stores.postgres.errors import is_restarting, read_only_error
from sojourn.stores.postgres.history import PostgresHistory
from sojourn.stores.postgres.migrate import load_migrations
from sojourn.stores.postgres.notify import PostgresNotifier
from sojourn.stores.postgres.transactions import MAX_CONNECTIONS, TransactionRunner
from sojourn.stores.sql import admin, log, removal
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.migrations import Migration
from sojourn.stores.sql.store import SqlStore
from sojourn.text.redaction import Redactor, redact

T = TypeVar("T")
_PROBE_SECONDS = 5.0  # between two writes of the health check
_FEED_RETRY_SECONDS = 0.01  # first pause before changes that are not settled yet are read again
_BACKUP_HINT = "Move it into a file with `sojourn store migrate --to PATH`, or use pg_dump and pg_restore."


class PostgresStore(SqlStore):
    """A store in a PostgreSQL database that any number of machines may share. Opens on first use.

    It has its own threads: while the server is away all of them wait, which must not block other work.
    """

    def __init__(self, url: str, *, redactor: Redactor = redact, migrations: list[Migration] | None = None) -> None:
        super().__init__()
        self.url, self.address, self.redactor = url, PostgresAddress(url), redactor
        self._notifier = PostgresNotifier(self.address, self.subscribers.wake)
        self._transactions = TransactionRunner(
            self.address, redactor, migrations or load_migrations(), self._after_commit, self._must_notify
        )
        self._documents: dict[str, PostgresDocuments] = {}
        self._feed_pause, self._next_feed_read = _FEED_RETRY_SECONDS, 0.0
        self._threads = _make_threads()
        self._indexing: threading.Thread | None = None
        self._closing = threading.Event()
        self._probed_at = float("-inf")  # when a health check has last written
        self._abandoned: set[asyncio.Future[Any]] = set()  # running writes whose caller was cancelled

    async def close(self) -> None:
        self._closing.set()
        if self._indexing:
            await asyncio.to_thread(self._indexing.join)
        self._indexing = None
        self._closing.clear()
        for documents in self._documents.values():
            await asyncio.to_thread(documents.close)
        await asyncio.to_thread(self._notifier.close)
        await asyncio.to_thread(self._transactions.close)
        threads, self._threads = self._threads, _make_threads()  # a closed store can be used again
        threads.shutdown(wait=False)

    # transactions
    async def _write(self, work: Callable[[Db], T]) -> T:
        loop = asyncio.get_running_loop()
        while earlier := [write for write in self._abandoned if write.get_loop() is loop]:
            await asyncio.wait(earlier)
        writing = loop.run_in_executor(self._threads, self._transactions.run, work, WRITE)
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:  # the write goes on; later writes wait for it, to keep their order
            self._abandoned.add(writing)
            writing.add_done_callback(self._discard)
            raise

    def _discard(self, writing: asyncio.Future[Any]) -> None:
        self._abandoned.discard(writing)
        if not writing.cancelled():
            writing.exception()  # marks the error as seen

    async def _read(self, work: Callable[[Db], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._transactions.run, work, READ)

    async def _query(self, work: Callable[[Db], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._transactions.run, work, QUERY)

    # the log
    async def append(self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None) -> list[Recorded]:
        redacted = await self.redact(items)
        return await self._write(lambda db: log.append(db, lease, redacted, turn=turn))

    # notifications
    def _listen(self) -> None:
        self._notifier.listen()

    def _must_notify(self) -> bool:
        """Whether a transaction has to notify other processes itself."""
        return not self._notifier.is_listening

    def _after_commit(self, db: PostgresDb) -> None:
        """Wakes subscribers of this process, then has other processes notified."""
        self.subscribers.wake(
            db.wake_names, {name: items for name, items in db.log_items.items() if name not in db.other_changes}
        )
        if not db.has_notified:
            self._notifier.notify(db.wake_names)

    # search
    async def search(self, search: SearchQuery) -> list[SearchHit]:
        state = await asyncio.to_thread(self._transactions.ensure_open)
        if state.stale and not state.read_only:
            await self.index()
        self._complete_index(state.read_only)
        # not prepared: the plan depends on the words
        return await asyncio.to_thread(self._transactions.run, partial(index.search, query=search), READ, prepare=False)

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Rebuilds the terms if the tokenizer has changed; otherwise they are written with each message."""
        state = await asyncio.to_thread(self._transactions.ensure_open)
        rebuilt = 0
        if state.stale and not state.read_only:
            rebuilt = await asyncio.to_thread(
                maintenance.rebuild_terms, partial(self._transactions.run, begin=WRITE), progress
            )
            state.stale = False
        if not state.read_only:
            rebuilt += await asyncio.to_thread(self._complete_terms, progress)
            await asyncio.to_thread(self._transactions.run_unpooled, maintenance.analyze)
        return rebuilt

    def _complete_index(self, read_only: bool) -> None:
        """Starts, once, to complete what an older version has indexed, behind the scenes."""
        if self._indexing is None and not read_only:
            self._indexing = threading.Thread(target=self._complete_quietly, name="sojourn-indexer", daemon=True)
            self._indexing.start()

    def _complete_quietly(self) -> None:
        with suppress(SojournError):  # the server is away: the next process goes on
            self._complete_terms(None)

    def _complete_terms(self, progress: Callable[[int, int], None] | None) -> int:
        run = partial(self._transactions.run, begin=WRITE)
        return maintenance.complete_terms(run, progress, self._closing.is_set)

    # change feed
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        changes, has_unsettled = await self._read(lambda db: feed.read_changes(db, self._base, after, limit))
        if has_unsettled and not changes:
            self._retry_feed()
        elif not has_unsettled:
            self._feed_pause = _FEED_RETRY_SECONDS
        return changes

    async def last_change(self) -> int:
        return await self._read(lambda db: feed.read_last_number(db, self._base))

    @property
    def _base(self) -> int:
        return self._transactions.state.base if self._transactions.state else 0

    def _retry_feed(self) -> None:
        """Wakes the readers of the feed soon: a transaction of another program ends without a notification."""
        now = time.monotonic()
        if now >= self._next_feed_read:
            self._next_feed_read = now + self._feed_pause
            asyncio.get_running_loop().call_later(self._feed_pause, self.subscribers.wake, ())
            self._feed_pause = min(self._feed_pause * 1.5, self.poll_seconds)

    # deletion
    async def forget(self, session: SessionId) -> Removed:
        removed = await self._write(lambda db: removal.forget_session(db, session))
        try:
            await asyncio.to_thread(self._transactions.run_unpooled, maintenance.vacuum)
        except SojournError as error:
            return replace(
                removed, remaining=(*maintenance.REMAINING_COPIES, f"deleted rows were not vacuumed: {error}")
            )
        return replace(removed, remaining=maintenance.REMAINING_COPIES)

    # maintenance
    async def stats(self, *, by_part: bool = True) -> StoreStats:
        state = await asyncio.to_thread(self._transactions.ensure_open)
        return await self._read(lambda db: maintenance.collect_stats(db, str(self.address), state.schema, state.stale))

    async def verify(self, progress: Progress | None = None) -> VerifyReport:
        return await self._read(lambda db: maintenance.verify(db, progress))

    async def backup(self, target: Path, progress: Progress | None = None) -> Path:
        raise BadInput(f"{self.address} is a server and cannot copy itself into a file.", hint=_BACKUP_HINT)

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        raise BadInput(
            f"{source} cannot replace {self.address}.",
            hint="Open the backup as a home and move it with `sojourn store migrate --to URL`.",
        )

    async def health(self) -> Health:
        place = str(self.address)
        was_reached = self._transactions.state is not None
        try:
            ask = partial(self._transactions.run, begin=READ, retry_seconds=0.0)
            await asyncio.to_thread(ask, lambda db: db.fetch_one("SELECT 1 AS n FROM sessions LIMIT 1"))
        except SojournError as error:
            is_away = error.code == "store_unavailable" and (was_reached or is_restarting(error.__cause__))
            return admin.health_from(error, "recovering" if is_away else "degraded", place, readable=False)
        if self._transactions.state and self._transactions.state.read_only:
            return admin.health_from(read_only_error(place), "read-only", place)
        if time.monotonic() - self._probed_at > _PROBE_SECONDS:
            try:
                await asyncio.to_thread(partial(self._transactions.run, begin=WRITE, retry_seconds=0.0), _probe_write)
            except SojournError as error:
                return admin.health_from(error, "degraded", place)
            self._probed_at = time.monotonic()
        return Health(state="healthy", store=place)

    def history(self) -> PostgresHistory:
        self._transactions.ensure_open()
        return PostgresHistory(self.url)

    def documents(self, name: str) -> PostgresDocuments:
        """Returns the documents of a name, for scan results that all servers on this database share."""
        self._transactions.ensure_open()
        return self._documents.setdefault(name, PostgresDocuments(self.url, name))


def _probe_write(db: Db) -> None:
    """Writes a row as it is: a full disk and lost rights show only then."""
    db.execute("UPDATE schema_migrations SET at = at WHERE number = 1")


def _make_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_CONNECTIONS, thread_name_prefix="sojourn-postgres")
