"""The store port over SQL. Subclasses implement transactions, notifications, search and the change feed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator
from functools import partial

from sojourn.core.errors import NotFound
from sojourn.core.sessions import Change, Control, Lease, SessionId
from sojourn.ports.store import Log
from sojourn.stores.sql import admin, leases, log, removal, sessions
from sojourn.stores.sql.bindings import SqlBindings
from sojourn.stores.sql.db import read_method, write_method
from sojourn.stores.sql.gateways import SqlGateways
from sojourn.stores.sql.handoffs import SqlHandoffs
from sojourn.stores.sql.inbox import SqlInbox
from sojourn.stores.sql.ingest import ingest_batch, list_fingerprints, list_forgotten
from sojourn.stores.sql.outbox import SqlOutbox
from sojourn.stores.sql.records import SqlRecords
from sojourn.stores.sql.tables import TABLES
from sojourn.stores.sql.wakeups import ALL_SESSIONS, Wakeup

_PAGE_ITEMS = 500  # log items in one read


class SqlStore(SqlRecords, SqlHandoffs, SqlInbox, SqlOutbox, SqlBindings, SqlGateways):
    """SessionStore, Ingest and StoreAdmin, as far as both databases share them."""

    @abstractmethod
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        """Returns the changes after a number, as far as no running transaction can add an earlier one."""

    create = write_method(sessions.create_session)
    get = read_method(sessions.get_session)
    resolve = read_method(sessions.resolve_session)
    find = read_method(sessions.list_sessions)
    count = read_method(sessions.count_sessions)
    change = write_method(sessions.change_session)
    put_blob = write_method(sessions.put_blob)
    get_blob = read_method(sessions.get_blob)
    append = write_method(log.append)
    set_flags = write_method(log.set_flags)
    end = write_method(log.end_session)
    set_driver = write_method(leases.set_driver)
    lease = write_method(leases.acquire_lease)
    renew = write_method(leases.renew_lease)
    send_control = write_method(leases.send_control)
    delete = write_method(removal.delete_session)
    list_fingerprints = read_method(list_fingerprints)
    list_forgotten = read_method(list_forgotten)
    ingest = write_method(ingest_batch)
    export_rows = read_method(admin.export_rows)
    import_rows = write_method(admin.import_rows)
    is_empty = read_method(admin.is_empty)

    # the log
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
    async def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]:
        wakeup = self.subscribers.add(ALL_SESSIONS)
        self._listen()
        try:
            while True:
                wakeup.clear()
                while changes := await self.changes(after=after):
                    for change in changes:
                        after = change.n
                        yield change
                await self._wait(wakeup)
        finally:
            self.subscribers.remove(wakeup, ALL_SESSIONS)

    async def last_change(self) -> int:
        row = await self._read(lambda db: db.fetch_one("SELECT max(n) AS n FROM changes"))
        return int(row["n"] or 0) if row else 0

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for table in TABLES:
            yield table.name, table.columns, table.key
