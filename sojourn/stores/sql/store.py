"""The store port over SQL. Subclasses implement transactions, notifications, search and the change feed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sojourn.core.errors import NotFound
from sojourn.core.events import Yielded
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Change, Control, Lease, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Listing, Log, Removed, SearchHit, SearchQuery, SideWrites
from sojourn.ports.store_admin import Ingested
from sojourn.stores.sql import admin, ingest, leases, log, removal, sessions
from sojourn.stores.sql.bindings import SqlBindings
from sojourn.stores.sql.gateways import SqlGateways
from sojourn.stores.sql.handoffs import SqlHandoffs
from sojourn.stores.sql.inbox import SqlInbox
from sojourn.stores.sql.outbox import SqlOutbox
from sojourn.stores.sql.records import SqlRecords
from sojourn.stores.sql.tables import TABLES
from sojourn.stores.sql.wakeups import ALL_SESSIONS, Wakeup

_PAGE_ITEMS = 500  # log items in one read
_FEED_PAGE = 1000  # changes in one read


class SqlStore(SqlRecords, SqlHandoffs, SqlInbox, SqlOutbox, SqlBindings, SqlGateways):
    """SessionStore, Ingest and StoreAdmin, as far as both databases share them."""

    @abstractmethod
    async def _search(self, query: SearchQuery) -> list[SearchHit]:
        """Searches with the index of this database."""

    @abstractmethod
    async def _changes(self, after: int, limit: int) -> list[Change]:
        """Returns the changes after a number, as far as no running transaction can add an earlier one."""

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
                sessions.create_session,
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
        return await self._read(lambda db: sessions.get_session(db, session, principal=principal))

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        return await self._read(lambda db: sessions.resolve_session(db, words, principal=principal))

    async def find(self, listing: Listing) -> list[Session]:
        return await self._read(lambda db: sessions.list_sessions(db, listing))

    async def count(self, listing: Listing) -> int:
        return await self._read(lambda db: sessions.count_sessions(db, listing))

    async def change(self, old: Session, new: Session) -> Session:
        return await self._write(lambda db: sessions.change_session(db, old, new))

    async def search(self, search: SearchQuery) -> list[SearchHit]:
        return await self._search(search)

    # the log
    async def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, along: SideWrites | None = None
    ) -> list[Recorded]:
        return await self._write(lambda db: log.append(db, lease, items, turn, along))

    async def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Log:
        while True:
            work = partial(log.read_page, session=session, after=after, messages_only=messages_only, limit=_PAGE_ITEMS)
            items = await self._read(work)
            for item in items:
                yield item
                after = item.seq
            if len(items) < _PAGE_ITEMS:
                return

    async def watch(self, session: SessionId, *, after: int = 0) -> Log:
        wakeup, has_existed = self.subscribers.add(session), False
        self._listen()
        try:
            while True:
                wakeup.take()
                async for item in self.read(session, after=after):
                    after, has_existed = item.seq, True
                    yield item
                has_existed = True
                async for item in self._follow(wakeup, after):
                    after = item.seq
                    yield item
        except NotFound:
            if not has_existed:
                raise
            return  # deleted while it was watched
        finally:
            self.subscribers.remove(wakeup, session)

    async def _follow(self, wakeup: Wakeup, after: int) -> Log:
        """Yields what this process appends without reading the database; returns when it has to be read."""
        while True:
            await wakeup.wait_or_poll(self.poll_seconds)
            items, must_read = wakeup.take()
            for item in items:
                if item.seq == after + 1:
                    after = item.seq
                    yield item
                elif item.seq > after:
                    return  # another process appended in between
            if must_read or not items:
                return

    async def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
        return await self._write(lambda db: log.set_flags(db, lease, seqs, active=active, compacted=compacted))

    async def end(self, lease: Lease, reason: str) -> Session:
        return await self._write(lambda db: log.end_session(db, lease, reason))

    # driver and lease
    async def set_driver(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session:
        return await self._write(lambda db: leases.set_driver(db, session, surface, fence=fence))

    async def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease:
        return await self._write(
            lambda db: leases.acquire_lease(db, session, holder=holder, surface=surface, seconds=seconds)
        )

    async def renew(self, lease: Lease, seconds: float = 30.0) -> Lease:
        return await self._write(lambda db: leases.renew_lease(db, lease, seconds))

    # controls
    async def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control:
        return await self._write(lambda db: leases.send_control(db, session, kind, payload, by))

    async def controls(self, lease: Lease) -> AsyncGenerator[Control, None]:
        wakeup = self.subscribers.add(lease.session, include_log=False)
        self._listen()
        try:
            while True:
                wakeup.clear()
                if await self._read(lambda db: leases.has_controls(db, lease)):
                    for control in await self._write(lambda db: leases.take_controls(db, lease)):
                        yield control
                await self._wait(wakeup)
        finally:
            self.subscribers.remove(wakeup, lease.session)

    # change feed
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        return await self._changes(after, limit)

    async def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]:
        wakeup = self.subscribers.add(ALL_SESSIONS)
        self._listen()
        try:
            while True:
                wakeup.clear()
                while changes := await self._changes(after, _FEED_PAGE):
                    for change in changes:
                        after = change.n
                        yield change
                await self._wait(wakeup)
        finally:
            self.subscribers.remove(wakeup, ALL_SESSIONS)

    async def last_change(self) -> int:
        row = await self._read(lambda db: db.fetch_one("SELECT max(n) AS n FROM changes"))
        return int(row["n"] or 0) if row else 0

    # deletion
    async def delete(self, session: SessionId, *, lease: Lease | None = None) -> Removed:
        return await self._write(lambda db: removal.delete_session(db, session, lease))

    # attachments
    async def put_blob(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str:
        return await self._write(lambda db: sessions.put_blob(db, session, data, media_type=media_type, name=name))

    async def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]:
        return await self._read(lambda db: sessions.get_blob(db, session, hash))

    # import
    async def list_fingerprints(self, source: str, home: str) -> dict[str, str]:
        return await self._read(lambda db: ingest.read_fingerprints(db, source, home))

    async def list_forgotten(self, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
        return await self._read(lambda db: ingest.find_forgotten(db, source, home, native_ids))

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        return await self._write(
            lambda db: [
                ingest.ingest_transcript(db, source, home, fingerprint, transcript, principal)
                for fingerprint, transcript in batch
            ]
        )

    # export and import of rows
    async def export_rows(self, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
        return await self._read(lambda db: admin.export_rows(db, table, after, limit))

    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        await self._write(lambda db: admin.import_rows(db, table, rows))

    async def is_empty(self) -> bool:
        return await self._read(lambda db: not any(admin.count_rows(db, table.name) for table in TABLES))

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for table in TABLES:
            yield table.name, table.columns, table.key
