"""Turn writer: the only writer of a session while it holds the lease. Stored first; watchers read the store."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from sojourn.core.attachments import OBSERVATION
from sojourn.core.errors import Interrupted, LeaseLost, NotDriving, NotFound, StoreUnavailable
from sojourn.core.events import Done, Metadata, Progress, Yielded
from sojourn.core.messages import Json, Message
from sojourn.core.progress import CompactionDetail
from sojourn.core.sessions import Lease, Recorded, SessionId, TurnId
from sojourn.ports.runtime import Compaction, Observation, RuntimeOutput, SaveState
from sojourn.ports.store import PendingQuestion, Record, RecordStore, SessionStore, Transaction
from sojourn.service.turn_record import LEASE_SECONDS, TurnRecord, list_active_turns
from sojourn.service.turn_state import TurnState
from sojourn.text.shown_text import ShownText
from sojourn.turn_support.conversation_history import STATE_KIND
from sojourn.turn_support.store_retry import retry_while_away

_GATHER_SECONDS = 0.02  # how long items gather after a write
_MAX_QUEUED = 256  # items; with more, the caller waits
GONE = (LeaseLost, NotDriving, NotFound)  # this process no longer holds the session

Along = Callable[[Transaction, SessionId], object]  # what is done in the transaction that stores items
BuildEnd = Callable[[TurnState, int], Sequence[Yielded]]  # the last items, from the state and number before them

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Batch:
    """Items that are stored in one transaction, what is done along with them, and the end of the turn, if it is now."""

    items: list[Yielded] = field(default_factory=list)
    along: list[Along] = field(default_factory=list)
    end: tuple[BuildEnd, Along] | None = None


class TurnWriter:
    """Writes items in order; those queued together are stored in one transaction."""

    def __init__(self, store: SessionStore, lease: Lease, turn: TurnId, *, redact: bool = True) -> None:
        self.store, self.lease, self.turn = store, lease, turn
        self.state = TurnState()
        self.after = 0  # the last sequence number this writer knows
        self.lock = asyncio.Lock()  # held while the lease is used or replaced
        self.closed = self.is_free = False
        self._shown_text = ShownText(is_redacted=redact)
        self._waiting = _Batch()
        self._written_at = float("-inf")
        self._is_awaited = asyncio.Event()  # somebody waits for what is queued
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, *items: Yielded) -> None:
        """Queues chunks and progress; waits until a message is stored, so that no tool runs before it is on record."""
        if self.closed:
            raise LeaseLost("The turn is over.", hint="What was kept before that is safe.")
        for item in items:
            self.enqueue(item)
        has_failed = self._writing is not None and self._writing.done()
        if has_failed or len(self._waiting.items) > _MAX_QUEUED or any(isinstance(item, Message) for item in items):
            await self.flush()

    def enqueue(self, item: Yielded) -> bool:
        """Queues an item. False if the queue is full: the caller may drop what is not a message."""
        if self.closed:
            return False
        self._waiting.items.append(item)
        self._start()
        return len(self._waiting.items) <= _MAX_QUEUED

    def _start(self) -> None:
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def ask(self, item: Progress, pending: PendingQuestion) -> None:
        """Stores the event of a question and its exact text in one transaction."""
        self._waiting.along.append(lambda store, session: store.put_question(session, pending))
        await self(item)

    async def end_text(self) -> None:
        """Stores the text that was held back, because it might have been the beginning of a secret."""
        await self.flush()
        await self(*self._shown_text.end())
        await self.flush()

    def resume(self, stored: Iterable[Recorded]) -> None:
        """Goes on behind items of this turn that are stored already."""
        for kept in stored:
            self.state.apply(kept)
            self.after = kept.seq
        self._written_at = time.monotonic()

    async def end(self, build_end: BuildEnd, *, along: Along) -> None:
        """Stores what is queued and the last items, does what goes `along` and releases the lease in one transaction.
        Drops everything queued later: `done` is last. May be called again if it raised."""
        self._waiting.end, self.closed = (build_end, along), True
        self._start()
        try:
            await self.flush()
        finally:
            self.is_free = self.closed = self.state.over

    async def flush(self) -> None:
        """Returns when everything is stored; raises the error of a failed write once."""
        while (writing := self._writing) is not None:
            self._is_awaited.set()
            try:
                await asyncio.shield(writing)
            finally:
                if self._writing is writing and writing.done():
                    self._writing = None

    @property
    def is_behind(self) -> bool:
        return len(self._waiting.items) > _MAX_QUEUED // 2

    async def _write(self) -> None:
        while self._waiting.items or self._waiting.end:
            await self._gather()
            async with self.lock:
                batch, self._waiting = self._waiting, _Batch()
                batch.items = await self._shown_text.feed(batch.items)
                batch.items += self._shown_text.end() if batch.end else []
                self.resume(await self._append(batch) if batch.items or batch.end else ())
        self._writing = None

    async def _gather(self) -> None:
        """Lets items gather for a moment after a write, unless somebody waits for them."""
        pause = self._written_at + _GATHER_SECONDS - time.monotonic()
        if pause > 0 and not self._is_awaited.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._is_awaited.wait()
        self._is_awaited.clear()

    async def _append(self, batch: _Batch) -> list[Recorded]:
        """Stores a batch exactly once, also if the store goes away and the commit is in doubt."""
        batch.items = await self.store.redact(batch.items)
        is_in_doubt = False

        async def store_once() -> list[Recorded]:
            nonlocal is_in_doubt
            known = await self._find_committed(batch) if is_in_doubt else []
            is_in_doubt = True
            return known or await self._store(batch)

        return await retry_while_away(store_once)

    async def _store(self, batch: _Batch) -> list[Recorded]:
        if not batch.along and not batch.end:
            return await self.store.append(self.lease, batch.items, turn=self.turn)
        return await self.store.transact(partial(self._append_batch, batch=batch))

    def _append_batch(self, store: Transaction, batch: _Batch) -> list[Recorded]:
        """Stores a batch. Only the lease holder appends, so the last number is known."""
        lease, items, along = self.lease, batch.items, batch.along
        if batch.end:
            build_end = batch.end[0]
            state = self.state.expect(lease.session, items, self.after)
            items, along = [*items, *build_end(state, self.after + len(items))], [*along, batch.end[1]]
        kept = store.append(lease, items, turn=self.turn, release=batch.end is not None)
        for one in along:
            one(store, lease.session)
        return kept

    async def _find_committed(self, batch: _Batch) -> list[Recorded]:
        """Items in doubt that were committed. Renewing the lease waits for an append; the end released it."""
        try:
            self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
        except (LeaseLost, NotDriving):
            kept = await self._read_own()
            if not batch.end or not any(isinstance(one.item, Done) for one in kept):
                raise
            return kept
        return await self._read_own()

    async def _read_own(self) -> list[Recorded]:
        """The items of this turn after the last known sequence number."""
        return [kept async for kept in self.store.read(self.lease.session, after=self.after) if kept.turn == self.turn]

    async def keep_lease(self, closing: asyncio.Event) -> None:
        """Renews the lease; raises when it is lost. Interrupted when this process is closing."""
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(closing.wait(), LEASE_SECONDS / 3)
                raise Interrupted("Sojourn was stopped in the middle of this turn.", hint="Say it again, or go on.")
            try:
                async with self.lock:
                    self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
            except StoreUnavailable as error:
                logger.warning("the lease on %s could not be renewed: %s", self.lease.session, error)

    async def move(self, surface: str) -> None:
        """Makes another surface the driver and goes on writing for it."""
        async with self.lock:
            self.lease = await self.store.transact(
                partial(_move_lease, old=self.lease, turn=self.turn, surface=surface)
            )

    async def release(self) -> None:
        """Releases the lease; may be called twice."""
        if self.is_free:
            return
        with suppress(*GONE, StoreUnavailable):  # then the lease is lost or will expire
            async with self.lock:
                await self.store.renew(self.lease, 0)
                self.is_free = True


class RuntimeSink:
    """Stores what a runtime yields: messages and events, its own state, observations, compactions."""

    def __init__(self, store: RecordStore, turn: TurnRecord, writer: TurnWriter) -> None:
        self._store, self._turn, self._writer = store, turn, writer
        self._numbers = count(1)

    async def __call__(self, item: RuntimeOutput) -> None:
        turn = self._turn
        if isinstance(item, SaveState):
            await self._put_record(STATE_KIND, f"{turn.session}/{turn.runtime}", dict(item.state))
        elif isinstance(item, Observation):
            value = {"runtime": turn.runtime, "turn": turn.id, "kind": item.kind, "data": dict(item.data)}
            await self._put_record(OBSERVATION, f"{turn.session}/{turn.id}/{next(self._numbers):06}", value)
        elif isinstance(item, Compaction):
            await self._compact(item)
        elif not isinstance(item, Metadata):  # the turn has written its own
            answer = item if isinstance(item, Message) and item.role == "assistant" else None
            if answer and self._writer.state.open:
                await self._writer(*self._writer.state.results("completed"))  # every call is paired before that
            if answer and not answer.tool_calls and not self._writer.closed and not self._writer.is_behind:
                self._writer.enqueue(item)  # no tool runs after it: what comes next is stored along with it
            else:
                await self._writer(item)

    async def _put_record(self, kind: str, key: str, value: Json) -> None:
        turn = self._turn
        record = Record(kind=kind, key=key, value=value, principal=turn.principal, session=turn.session)
        await self._writer.flush()  # never ahead of the message it belongs to
        async with self._writer.lock:
            await self._store.put_record(record, lease=self._writer.lease)

    async def _compact(self, item: Compaction) -> None:
        """Stores the summary before hiding what it replaces, so that a crash in between loses nothing."""
        if not item.seqs:
            return
        seqs, first, last = item.seqs, min(item.seqs), max(item.seqs)
        extra = json.dumps({"summary_of": [first, last]})
        await self._writer(Message(role="system", content=item.summary, extra=extra))
        at = int(self._writer.state.ids[-1].rpartition(":")[2])
        async with self._writer.lock:
            await self._writer.store.set_flags(self._writer.lease, seqs, active=False, compacted=True)
        shown: CompactionDetail = {"status": "kept", "messages": len(seqs), "from": first, "to": last, "summary": at}
        await self._writer(Progress("compaction", shown))


def _move_lease(store: Transaction, old: Lease, turn: TurnId, surface: str) -> Lease:
    store.renew(old)  # LeaseLost, NotDriving
    store.set_driver(old.session, surface, fence=old.driver_fence)
    lease = store.lease(old.session, holder=old.holder, surface=surface, seconds=LEASE_SECONDS)
    if record := next((one for one in list_active_turns(store, old.session) if one.id == turn), None):
        store.put_record(replace(record, lease=lease, since=lease.since).to_record())
    return lease
