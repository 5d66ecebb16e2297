"""The store port over SQL. Subclasses implement transactions, notifications, search and the change feed."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from sojourn.core.errors import NotFound
from sojourn.core.events import Yielded
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.messages import Message
from sojourn.core.sessions import Change, Control, Lease, Principal, Recorded, SessionId, TurnId
from sojourn.ports.gateway_store import AccountKey, Incoming, Outgoing, Topic
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Log, Transaction
from sojourn.ports.store_admin import Ingested
from sojourn.stores.sql import admin, inbox, leases, log, outbox, questions, records, removal, sessions
from sojourn.stores.sql import bindings as binding_rows
from sojourn.stores.sql import gateways as gateway_rows
from sojourn.stores.sql import handoffs as handoff_steps
from sojourn.stores.sql.branches import branch_session
from sojourn.stores.sql.db import Db, fetch_number
from sojourn.stores.sql.facets import count_facets
from sojourn.stores.sql.handoff_guard import get_handoff
from sojourn.stores.sql.ingest import ingest_batch, list_fingerprints, list_forgotten, redact_batch
from sojourn.stores.sql.row_claims import ClaimFilter, ClaimTable, Item
from sojourn.stores.sql.session_changes import change_session, set_title
from sojourn.stores.sql.tables import TABLES
from sojourn.stores.sql.transaction import SqlTransaction
from sojourn.stores.sql.wakeups import ALL_SESSIONS, Subscribers, Wakeup
from sojourn.text.message_redaction import redact_message
from sojourn.text.redaction import INLINE_CHARS, Redactor

T = TypeVar("T")
P = ParamSpec("P")
_PAGE_ITEMS = 500  # log items in one read
_FIRST_LOOK_SECONDS = 0.5  # for controls sent before a turn listened; one that is over sooner needs no look
_GATEWAY_TOPICS: tuple[Topic, ...] = ("inbox", "outbox", "bindings", "gateways")


def read_method(work: Callable[Concatenate[Db, P], T]) -> Callable[Concatenate[SqlStore, P], Coroutine[Any, Any, T]]:
    """Makes a function of a `Db` a method of the store: it runs on one snapshot."""

    @wraps(work)
    async def method(self: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._read(lambda db: work(db, *args, **kwargs))

    return method


def query_method(work: Callable[Concatenate[Db, P], T]) -> Callable[Concatenate[SqlStore, P], Coroutine[Any, Any, T]]:
    """Makes a function that runs one query of a `Db` a method of the store; a query needs no transaction around it."""

    @wraps(work)
    async def method(self: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._query(lambda db: work(db, *args, **kwargs))

    return method


def write_method(work: Callable[Concatenate[Db, P], T]) -> Callable[Concatenate[SqlStore, P], Coroutine[Any, Any, T]]:
    """Makes a function of a `Db` a method of the store: it runs in one transaction, on disk when the method returns."""

    @wraps(work)
    async def method(self: SqlStore, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._write(lambda db: work(db, *args, **kwargs))

    return method


class SqlStore(ABC):
    """SessionStore, HandoffStore, GatewayStore, Ingest and StoreAdmin, as far as both databases share them."""

    redactor: Redactor
    poll_seconds = 2.0  # a watcher reads the store after this long even if no notification came

    def __init__(self) -> None:
        self.subscribers = Subscribers()

    # what a database implements
    @abstractmethod
    async def _write(self, work: Callable[[Db], T]) -> T:
        """Runs `work` in one transaction, which is on disk when this returns."""

    @abstractmethod
    async def _read(self, work: Callable[[Db], T]) -> T:
        """Runs `work` on one snapshot of the store."""

    @abstractmethod
    async def _query(self, work: Callable[[Db], T]) -> T:
        """Runs `work`, which makes one query, without a transaction."""

    @abstractmethod
    def _listen(self) -> None:
        """Starts forwarding notifications of other processes to `self.subscribers`."""

    @abstractmethod
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]:
        """Returns the changes after a number, as far as no running transaction can add an earlier one."""

    # sessions
    create = write_method(sessions.create_session)
    get = query_method(sessions.get_session)
    resolve = read_method(sessions.resolve_session)
    find = query_method(sessions.list_sessions)
    count = read_method(sessions.count_sessions)
    branch = write_method(branch_session)
    list_waiting = query_method(questions.list_waiting)
    count_facets = read_method(count_facets)
    change = write_method(change_session)
    set_title = write_method(set_title)
    put_blob = write_method(sessions.put_blob)
    get_blob = query_method(sessions.get_blob)
    get_question = query_method(questions.get_question)
    set_flags = write_method(log.set_flags)
    end = write_method(log.end_session)
    set_driver = write_method(leases.set_driver)
    lease = write_method(leases.acquire_lease)
    renew = write_method(leases.renew_lease)
    send_control = write_method(leases.send_control)
    delete = write_method(removal.delete_session)

    # records
    put_record = write_method(records.put_record)
    get_record = query_method(records.get_record)
    list_records = query_method(records.list_records)
    delete_record = write_method(records.delete_record)
    stamp_records = query_method(records.stamp_records)

    # hand-offs
    request_handoff = write_method(handoff_steps.request_handoff)
    get_handoff = read_method(get_handoff)
    get_handoff_state = read_method(handoff_steps.find_newest_handoff)
    handoffs = query_method(handoff_steps.list_handoffs)
    list_pending_handoffs = read_method(handoff_steps.list_pending)
    renew_handoff = write_method(handoff_steps.renew_handoff)
    advance_handoff = write_method(handoff_steps.advance_handoff)
    complete_handoff = write_method(handoff_steps.complete_handoff)
    fail_handoff = write_method(handoff_steps.fail_handoff)
    cancel_handoff = write_method(handoff_steps.cancel_handoff)
    expire_handoffs = write_method(handoff_steps.expire_handoffs)

    async def claim_handoff(
        self, owner: str, *, platforms: Sequence[str] | None = None, id: HandoffId | None = None, seconds: float = 30.0
    ) -> Handoff | None:
        if not await self.list_pending_handoffs(platforms):
            return None  # the usual case, which need not wait for the writer
        return await self._write(lambda db: handoff_steps.claim_handoff(db, owner, platforms, id, seconds))

    # inbox and outbox
    add_incoming = write_method(inbox.add_incoming)
    incoming_files = query_method(inbox.read_files)
    update_incoming = write_method(inbox.update_incoming)
    finish_incoming = write_method(inbox.finish_incoming)
    answer_incoming = write_method(inbox.answer_incoming)
    release_incoming = write_method(inbox.release_incoming)
    incoming = query_method(inbox.TABLE.list_items)
    put_outgoing = write_method(outbox.put_outgoing)
    renew_outgoing = write_method(outbox.renew_outgoing)
    finish_outgoing = write_method(outbox.finish_outgoing)
    release_outgoing = write_method(outbox.release_outgoing)
    outgoing = query_method(outbox.TABLE.list_items)

    async def claim_incoming(
        self,
        owner: str,
        *,
        lines: Sequence[AccountKey] | None = None,
        place: str | None = None,
        out_of_turn: bool = False,
        limit: int = 1,
        seconds: float = 60.0,
    ) -> list[Incoming]:
        return await self._claim(inbox.TABLE, owner, ClaimFilter(lines, place, out_of_turn, limit), seconds)

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[AccountKey] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        return await self._claim(outbox.TABLE, owner, ClaimFilter(lines, limit=limit), seconds)

    async def _claim(self, table: ClaimTable[Item], owner: str, wanted: ClaimFilter, seconds: float) -> list[Item]:
        if not await self._query(lambda db: table.has_claimable(db, wanted)):
            return []  # the usual case, which need not wait for the writer
        return await self._write(lambda db: table.claim(db, owner, wanted, seconds))

    # bindings and gateways
    bind = write_method(binding_rows.bind)
    binding = query_method(binding_rows.get_binding)
    bindings = query_method(binding_rows.list_bindings)
    unbind = write_method(binding_rows.unbind)
    heartbeat = write_method(gateway_rows.save_heartbeat)
    gateways = query_method(gateway_rows.list_gateways)
    retire_gateway = write_method(gateway_rows.delete_gateway)
    lease_credential = write_method(gateway_rows.lease_credential)
    renew_credential = write_method(gateway_rows.renew_credential)
    line_health = read_method(gateway_rows.measure_connections)
    prune_journal = write_method(gateway_rows.prune_finished)

    # imports and administration
    list_fingerprints = read_method(list_fingerprints)
    list_forgotten = read_method(list_forgotten)
    export_rows = read_method(admin.export_rows)
    import_rows = write_method(admin.import_rows)
    is_empty = read_method(admin.is_empty)

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        for table in TABLES:
            yield table.name, table.columns, table.key

    # the log
    @abstractmethod
    async def append(self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None) -> list[Recorded]: ...

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        return await self._write(lambda db: work(SqlTransaction(db)))

    async def snapshot(self, work: Callable[[Transaction], T]) -> T:
        return await self._read(lambda db: work(SqlTransaction(db)))

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        redacted = await asyncio.to_thread(redact_batch, batch, self.redactor)
        return await self._write(lambda db: ingest_batch(db, source, home, redacted, principal=principal))

    async def redact(self, items: Sequence[Yielded]) -> list[Yielded]:
        """Redacts messages before the writer is entered, long ones in a thread: nobody waits for that."""
        size = sum(len(item.content or "") for item in items if isinstance(item, Message))
        return await asyncio.to_thread(self._redact_now, items) if size > INLINE_CHARS else self._redact_now(items)

    def _redact_now(self, items: Sequence[Yielded]) -> list[Yielded]:
        return [redact_message(item, self.redactor) if isinstance(item, Message) else item for item in items]

    async def read(self, session: SessionId, *, after: int = 0, before: int = 0, messages_only: bool = False) -> Log:
        page = partial(log.read_page, session=session, messages_only=messages_only, limit=_PAGE_ITEMS)
        while True:
            items = await self._read(partial(page, after=after, before=before))
            for item in items:
                yield item
                after, before = (after, item.seq) if before else (item.seq, 0)
            if len(items) < _PAGE_ITEMS:
                return

    # watchers
    @contextmanager
    def _subscribe(self, *names: str, include_log: bool = True) -> Iterator[Wakeup]:
        """Subscribes to sessions or topics, in this process and in others."""
        wakeup = self.subscribers.add(*names, include_log=include_log)
        try:
            self._listen()
            yield wakeup
        finally:
            self.subscribers.remove(wakeup, *names)

    async def _wait(self, event: asyncio.Event, seconds: float | None = None) -> None:
        """Waits for the event, at most `seconds` (default: `poll_seconds`)."""
        with suppress(TimeoutError):
            # asyncio.wait_for would swallow a cancellation that coincides with the event
            async with asyncio.timeout(self.poll_seconds if seconds is None else seconds):
                await event.wait()

    async def watch(self, session: SessionId, *, after: int = 0) -> Log:
        has_existed = False
        with self._subscribe(session) as wakeup:
            try:
                while True:
                    if has_existed or not wakeup.items or wakeup.items[0].seq > after + 1:  # else all is in memory
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
                    raise  # otherwise it was deleted while it was watched

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
        with self._subscribe(lease.session, include_log=False) as wakeup:
            await self._wait(wakeup, _FIRST_LOOK_SECONDS)
            while True:
                wakeup.clear()
                if await self._query(lambda db: leases.has_controls(db, lease)):
                    for control in await self._write(lambda db: leases.take_controls(db, lease)):
                        yield control
                await self._wait(wakeup)

    async def watch_gateway(self, *topics: Topic, seconds: float = 2.0) -> AsyncGenerator[None, None]:
        with self._subscribe(*(f"@{topic}" for topic in topics or _GATEWAY_TOPICS)) as wakeup:
            while True:
                wakeup.take()
                yield
                await self._wait(wakeup, seconds)

    async def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]:
        with self._subscribe(ALL_SESSIONS) as wakeup:
            while True:
                wakeup.clear()
                while changes := await self.changes(after=after):
                    for change in changes:
                        after = change.n
                        yield change
                await self._wait(wakeup)

    async def last_change(self) -> int:
        return await self._read(lambda db: fetch_number(db, "SELECT max(n) AS n FROM changes"))
