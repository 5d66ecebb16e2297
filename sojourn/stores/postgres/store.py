"""The store for more than one machine: a PostgreSQL database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import BadInput, SojournError
from sojourn.core.health import Health
from sojourn.core.sessions import Change, SessionId
from sojourn.ports.admin import Progress, StoreStats, VerifyReport
from sojourn.ports.store import Removed, SearchHit, SearchQuery
from sojourn.stores.postgres import feed, index, upkeep
from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.bell import Bell
from sojourn.stores.postgres.db import READ, WRITE
from sojourn.stores.postgres.errors import is_passing
from sojourn.stores.postgres.history import PostgresHistory
from sojourn.stores.postgres.line import CONNECTIONS, Line
from sojourn.stores.postgres.migrate import Migration, known_migrations
from sojourn.stores.postgres.shelf import PostgresShelf
from sojourn.stores.sql import admin, removal
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.store import SqlStore
from sojourn.text.redaction import Redactor, redact

T = TypeVar("T")
_SOON = 0.01  # seconds until changes are looked for again that wait for somebody's older transaction
_ELSEWHERE = "Move it into a file with `sojourn store migrate --to PATH`, or use pg_dump and pg_restore."


class PostgresStore(SqlStore):
    """Opens on first use. Any number of machines may share one database. It has threads of its own: while the server is
    away all of them wait, and nobody else in this process shall wait with them."""

    def __init__(self, url: str, *, redactor: Redactor = redact, migrations: list[Migration] | None = None) -> None:
        super().__init__()
        self.url, self.address = url, Address(url)
        self._line = Line(self.address, redactor, migrations or known_migrations(), self._told)
        self._bell = Bell(self.address, self.waiters.wake)
        self._shelves: dict[str, PostgresShelf] = {}
        self._pause, self._next_look = _SOON, 0.0
        self._threads = _threads()
        self._left: set[asyncio.Future[Any]] = set()  # writes under way that nobody waits for any more

    async def close(self) -> None:
        for shelf in self._shelves.values():
            await asyncio.to_thread(shelf.close)
        await asyncio.to_thread(self._bell.close)
        await asyncio.to_thread(self._line.close)
        done, self._threads = self._threads, _threads()  # used again, it opens again
        done.shutdown(wait=False)

    # transactions
    async def _write(self, work: Callable[[Db], T]) -> T:
        loop = asyncio.get_running_loop()
        while before := [left for left in self._left if left.get_loop() is loop]:
            await asyncio.wait(before)
        writing = loop.run_in_executor(self._threads, self._line.run, work, WRITE)
        try:
            return await asyncio.shield(writing)
        except asyncio.CancelledError:  # whoever asked has gone away; what comes next is written after it
            self._left.add(writing)
            writing.add_done_callback(self._is_over)
            raise

    def _is_over(self, writing: asyncio.Future[Any]) -> None:
        self._left.discard(writing)
        if not writing.cancelled():
            writing.exception()  # nobody is left to hear of it

    async def _read(self, work: Callable[[Db], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._line.run, work, READ)

    # the doorbell
    def _listen(self) -> None:
        self._bell.listen()

    def _told(self, sessions: set[str]) -> None:
        if not self._bell.is_listening:  # else the bell tells us as it tells everybody
            self.waiters.wake(sessions)

    # search
    async def _search(self, asked: SearchQuery) -> list[SearchHit]:
        opened = await asyncio.to_thread(self._line.reach)
        if opened.stale and not opened.read_only:
            await self.index()
        # planned anew each time, with the words in view
        return await asyncio.to_thread(self._line.run, partial(index.find, asked=asked), READ, prepare=False)

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Messages are found as soon as they are kept; only another tokenizer makes work here."""
        opened = await asyncio.to_thread(self._line.reach)
        made = 0
        if opened.stale and not opened.read_only:
            made = await asyncio.to_thread(upkeep.make_terms, partial(self._line.run, begin=WRITE), progress)
            opened.stale = False
        if not opened.read_only:
            await asyncio.to_thread(self._line.alone, upkeep.learn)
        return made

    # the feed
    async def _changes(self, after: int, limit: int) -> list[Change]:
        found, some_wait = await self._read(lambda db: feed.page(db, self._base, after, limit))
        if some_wait and not found:
            self._look_again()
        elif not some_wait:
            self._pause = _SOON
        return found

    async def last_change(self) -> int:
        return await self._read(lambda db: feed.last(db, self._base))

    @property
    def _base(self) -> int:
        return self._line.opened.base if self._line.opened else 0

    def _look_again(self) -> None:
        """Changes wait for a transaction that may be another program's: nobody rings when that ends."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + self._pause
            asyncio.get_running_loop().call_later(self._pause, self.waiters.wake, ())
            self._pause = min(self._pause * 1.5, self.safety_net)

    # taking away
    async def forget(self, session: SessionId) -> Removed:
        removed = await self._write(lambda db: removal.forget(db, session))
        try:
            await asyncio.to_thread(self._line.alone, upkeep.sweep)
        except SojournError as error:
            return replace(removed, left=(*upkeep.LEFT, f"it was not swept up: {error}"))
        return replace(removed, left=upkeep.LEFT)

    # looking after
    async def stats(self) -> StoreStats:
        opened = await asyncio.to_thread(self._line.reach)
        return await self._read(lambda db: upkeep.stats(db, str(self.address), opened.schema, opened.stale))

    async def verify(self, progress: Progress | None = None) -> VerifyReport:
        return await self._read(lambda db: upkeep.verify(db, progress))

    async def backup(self, target: Path, progress: Progress | None = None) -> Path:
        raise BadInput(f"{self.address} is a server: it is not copied into a file of its own.", hint=_ELSEWHERE)

    async def restore(self, source: Path, progress: Progress | None = None) -> None:
        raise BadInput(
            f"{source} cannot be put in the place of {self.address}.",
            hint="Open the copy as a home and move it with `sojourn store migrate --to URL`.",
        )

    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        def work(db: Db) -> None:
            admin.import_rows(db, table, rows)
            upkeep.after_import(db, table)

        if rows:
            await self._write(work)

    async def health(self) -> Health:
        place = str(self.address)
        was_there = self._line.opened is not None
        try:
            ask = partial(self._line.run, begin=READ, patience=0.0)
            await asyncio.to_thread(ask, lambda db: db.one("SELECT 1 AS n FROM sessions LIMIT 1"))
        except SojournError as error:
            is_away = error.code == "store_unavailable" and (was_there or is_passing(error.__cause__))
            return Health(
                state="recovering" if is_away else "degraded",
                store=place,
                readable=False,
                code=error.code,
                error=str(error),
                hint=error.hint,
            )
        if self._line.opened and self._line.opened.read_only:
            return Health(
                state="read-only",
                store=place,
                code="store_read_only",
                error=f"{place} can only be read.",
                hint="Use the primary server, or allow writing (default_transaction_read_only).",
            )
        return Health(state="healthy", store=place)

    def history(self) -> PostgresHistory:
        self._line.reach()
        return PostgresHistory(self.url)

    def shelf(self, name: str) -> PostgresShelf:
        """A place for what scans of this store keep, shared by all who use it."""
        self._line.reach()
        return self._shelves.setdefault(name, PostgresShelf(self.url, name))


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="sojourn-postgres")
