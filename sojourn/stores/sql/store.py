"""The store port over SQL. A subclass says how a transaction is run and how others are heard."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sojourn.core.errors import NotFound
from sojourn.core.events import Yielded
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Change, Control, Lease, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.ingest import Ingested
from sojourn.ports.source import Transcript
from sojourn.ports.store import Along, Hit, Listing, Log, Removed, Search
from sojourn.stores.sql import admin, blobs, ingest, log, removal, sessions, wheel
from sojourn.stores.sql import along as kept_along
from sojourn.stores.sql.bell import EVERY, Ring
from sojourn.stores.sql.bindings import SqlBindings
from sojourn.stores.sql.gateways import SqlGateways
from sojourn.stores.sql.handoffs import SqlHandoffs
from sojourn.stores.sql.inbox import SqlInbox
from sojourn.stores.sql.outbox import SqlOutbox
from sojourn.stores.sql.records import SqlRecords
from sojourn.stores.sql.tables import TABLES

_PAGE = 500


class SqlStore(SqlRecords, SqlHandoffs, SqlInbox, SqlOutbox, SqlBindings, SqlGateways):
    """SessionStore, Ingest and StoreAdmin as far as SQL goes."""

    # what a subclass brings, besides its transactions
    @abstractmethod
    async def _search(self, asked: Search) -> list[Hit]:
        """The best hits in an index of its own kind."""

    @abstractmethod
    async def _changes(self, after: int, limit: int) -> list[Change]:
        """The feed as far as it is settled."""

    # sessions
    async def create(
        self,
        *,
        principal: Principal = OWNER,
        source: str = "cli",
        title: str | None = None,
        parent: SessionId | None = None,
        model: str | None = None,
        cwd: str | None = None,
        id: SessionId | None = None,
        details: Mapping[str, Json] | None = None,
    ) -> Session:
        return await self._write(
            partial(
                sessions.create,
                principal=principal,
                source=source,
                title=title,
                parent=parent,
                model=model,
                cwd=cwd,
                id=id,
                details=details,
            )
        )

    async def get(self, session: SessionId, *, principal: Principal | None = None) -> Session:
        return await self._read(lambda db: sessions.get(db, session, principal=principal))

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        return await self._read(lambda db: sessions.resolve(db, words, principal=principal))

    async def find(self, listing: Listing) -> list[Session]:
        return await self._read(lambda db: sessions.find(db, listing))

    async def count(self, listing: Listing) -> int:
        return await self._read(lambda db: sessions.count(db, listing))

    async def change(self, old: Session, new: Session) -> Session:
        return await self._write(lambda db: sessions.change(db, old, new))

    async def search(self, search: Search) -> list[Hit]:
        return await self._search(search)

    # the log
    async def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, along: Along | None = None
    ) -> list[Recorded]:
        return await self._write(lambda db: kept_along.append(db, lease, items, turn, along))

    async def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Log:
        while True:
            work = partial(log.page, session=session, after=after, messages_only=messages_only, limit=_PAGE)
            found = await self._read(work)
            for item in found:
                yield item
                after = item.seq
            if len(found) < _PAGE:
                return

    async def watch(self, session: SessionId, *, after: int = 0) -> Log:
        ring, was_there = self.waiters.add(session), False
        self._listen()
        try:
            while True:
                ring.take()
                async for item in self.read(session, after=after):
                    after, was_there = item.seq, True
                    yield item
                was_there = True
                async for item in self._live(ring, after):
                    after = item.seq
                    yield item
        except NotFound:
            if not was_there:
                raise
            return  # it was deleted while we watched
        finally:
            self.waiters.remove(ring, session)

    async def _live(self, ring: Ring, after: int) -> Log:
        """What this process keeps, as it keeps it, without asking the database for it; until there is more to see."""
        while True:
            await ring.rest(self.safety_net)
            told, look = ring.take()
            for item in told:
                if item.seq == after + 1:
                    after = item.seq
                    yield item
                elif item.seq > after:
                    return  # somebody else wrote in between
            if look or not told:
                return

    async def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
        return await self._write(lambda db: log.set_flags(db, lease, seqs, active=active, compacted=compacted))

    async def end(self, lease: Lease, reason: str) -> Session:
        return await self._write(lambda db: log.end(db, lease, reason))

    # who may write
    async def drive(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session:
        return await self._write(lambda db: wheel.drive(db, session, surface, fence=fence))

    async def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease:
        return await self._write(lambda db: wheel.lease(db, session, holder=holder, surface=surface, seconds=seconds))

    async def renew(self, lease: Lease, seconds: float = 30.0) -> Lease:
        return await self._write(lambda db: wheel.renew(db, lease, seconds))

    # words to a running turn
    async def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control:
        return await self._write(lambda db: wheel.send_control(db, session, kind, payload, by))

    async def controls(self, lease: Lease) -> AsyncGenerator[Control, None]:
        rung = self.waiters.add(lease.session, hears_log=False)
        self._listen()
        try:
            while True:
                rung.clear()
                if await self._read(lambda db: wheel.waiting(db, lease)):
                    for control in await self._write(lambda db: wheel.take_controls(db, lease)):
                        yield control
                await self._rest(rung)
        finally:
            self.waiters.remove(rung, lease.session)

    # the feed
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        return await self._changes(after, limit)

    async def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]:
        rung = self.waiters.add(EVERY)
        self._listen()
        try:
            while True:
                rung.clear()
                while found := await self._changes(after, 1000):
                    for change in found:
                        after = change.n
                        yield change
                await self._rest(rung)
        finally:
            self.waiters.remove(rung, EVERY)

    async def last_change(self) -> int:
        row = await self._read(lambda db: db.one("SELECT max(n) AS n FROM changes"))
        return int(row["n"] or 0) if row else 0

    # taking away
    async def delete(self, session: SessionId, *, lease: Lease | None = None) -> Removed:
        return await self._write(lambda db: removal.delete(db, session, lease))

    # attachments
    async def put_blob(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str:
        return await self._write(lambda db: blobs.put(db, session, data, media_type=media_type, name=name))

    async def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]:
        return await self._read(lambda db: blobs.get(db, session, hash))

    # bringing in
    async def known(self, source: str, home: str) -> dict[str, str]:
        return await self._read(lambda db: ingest.known(db, source, home))

    async def forgotten(self, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
        return await self._read(lambda db: ingest.forgotten(db, source, home, native_ids))

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        return await self._write(
            lambda db: [ingest.bring_in(db, source, home, mark, found, principal) for mark, found in batch]
        )

    # moving
    async def export_rows(self, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
        return await self._read(lambda db: admin.export_rows(db, table, after, limit))

    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        await self._write(lambda db: admin.import_rows(db, table, rows))

    async def is_empty(self) -> bool:
        return await self._read(lambda db: not any(admin.count(db, table.name) for table in TABLES))

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for table in TABLES:
            yield table.name, table.columns, table.key
