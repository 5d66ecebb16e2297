"""Turn writer: the only writer of a session while it holds the lease. Stored first, seen second: watchers read the
store."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count

from sojourn.core.attachments import OBSERVATION
from sojourn.core.errors import LeaseLost, NotDriving, NotFound, StoreUnavailable
from sojourn.core.events import Done, Metadata, Progress, Yielded
from sojourn.core.messages import Json, Message
from sojourn.core.progress import CompactionDetail
from sojourn.core.sessions import Lease, Recorded, Session, TurnId
from sojourn.ports.runtime import Compaction, Observation, RuntimeOutput, SaveState
from sojourn.ports.store import PendingQuestion, Record, RecordStore, SessionStore, SideWrites
from sojourn.service.turn_record import LEASE_SECONDS, TurnRecord
from sojourn.service.turn_state import TurnState
from sojourn.text.shown_text import ShownText

_STORE_WAIT_SECONDS = 60.0  # how long an unavailable store is waited for
_MAX_QUEUED = 256  # items; with more, the caller waits
GONE = (LeaseLost, NotDriving, NotFound)  # this process no longer holds the session

STATE_KIND = "agent_state"  # a runtime's own state, under `<session>/<runtime>`

logger = logging.getLogger(__name__)


class TurnWriter:
    """Writes items in order; those queued together are stored in one transaction."""

    def __init__(self, store: SessionStore, lease: Lease, turn: TurnId | None, *, redact: bool = True) -> None:
        self.store, self.lease, self.turn = store, lease, turn
        self.state = TurnState()
        self.after = 0  # the last sequence number this writer knows
        self.lock = asyncio.Lock()  # held while the lease is used or replaced
        self.closed = self.is_free = False
        self.is_unsure = False  # the store went away during an append, which may have been committed
        self._shown_text = ShownText(is_redacted=redact)
        self._waiting: list[Yielded] = []
        self._along: SideWrites | None = None  # written in the same transaction as the next items
        self._asked: list[PendingQuestion] = []  # likewise
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, *items: Yielded) -> None:
        """Queues chunks and progress; waits until a message is stored, so that no tool call runs before it is on
        record."""
        if self.closed:
            raise LeaseLost("The turn is over.", hint="What was kept before that is safe.")
        for item in items:
            self.enqueue(item)
        if any(isinstance(item, Message) for item in items) or len(self._waiting) > _MAX_QUEUED or self._has_failed():
            await self.flush()

    def enqueue(self, item: Yielded) -> bool:
        """Queues an item. False if the queue is full: the caller may drop what is not a message."""
        if self.closed:
            return False
        self._waiting += self._shown_text.feed(item)
        if self._waiting and self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return len(self._waiting) <= _MAX_QUEUED

    async def ask(self, item: Progress, pending: PendingQuestion) -> None:
        """Stores the event of a question and its exact text in one transaction."""
        self._asked.append(pending)
        await self(item)

    async def end_text(self) -> None:
        """Stores the text that was held back, because it might have been the beginning of a secret."""
        await self(*self._shown_text.end())
        await self.flush()

    async def begin(self, *items: Yielded, along: SideWrites) -> None:
        """Stores the first items and `along` in one transaction."""
        self._along = along
        await self(*items)

    async def end(self, *items: Yielded, along: SideWrites | None = None) -> None:
        """Stores the last items and `along` in one transaction, and drops everything queued later: `done` is last."""
        await self.flush()
        if self.closed:
            return  # another process has ended the turn
        self._along = along
        for item in items:
            self.enqueue(item)
        self.closed = True
        await self.flush()
        self.is_free = along is not None and along.release_lease and self.state.over

    async def flush(self) -> None:
        """Returns when everything is stored; raises the error of a failed write once."""
        while (writing := self._writing) is not None:
            try:
                await asyncio.shield(writing)
            finally:
                if self._writing is writing and writing.done():
                    self._writing = None

    @property
    def is_behind(self) -> bool:
        return len(self._waiting) > _MAX_QUEUED // 2

    def _has_failed(self) -> bool:
        return self._writing is not None and self._writing.done()

    async def _write(self) -> None:
        while self._waiting:
            async with self.lock:
                batch, self._waiting = self._waiting, []
                along, self._along = self._along, None
                asked, self._asked = tuple(self._asked), []
                along = replace(along or SideWrites(), asked=asked) if asked else along
                for kept in await self._append(batch, along):
                    self.state.apply(kept)
                    self.after = kept.seq
        self._writing = None

    async def _append(self, batch: list[Yielded], along: SideWrites | None) -> list[Recorded]:
        """Stores a batch exactly once, also if the store goes away and the commit is in doubt."""
        gone, pause = 0.0, 0.1
        while True:
            try:
                kept = await self._find_committed(along) if gone else []
                kept = kept or await self.store.append(self.lease, batch, turn=self.turn, along=along)
                self.is_unsure = False
                return kept
            except StoreUnavailable as error:
                self.is_unsure, gone = True, gone or time.monotonic()
                if not error.retryable or time.monotonic() > gone + _STORE_WAIT_SECONDS:
                    raise
                logger.warning("turn %s waits for the store: %s", self.turn, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    async def _find_committed(self, along: SideWrites | None) -> list[Recorded]:
        """Items of a batch in doubt that were committed. Renewing the lease waits for a pending append; if that append
        released the lease, it was the end of the turn."""
        try:
            self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
        except (LeaseLost, NotDriving):
            kept = await self._read_own()
            if along is None or not along.release_lease or not any(isinstance(one.item, Done) for one in kept):
                raise
            return kept
        return await self._read_own()

    async def _read_own(self) -> list[Recorded]:
        """The items of this turn after the last known sequence number."""
        return [kept async for kept in self.store.read(self.lease.session, after=self.after) if kept.turn == self.turn]

    async def keep_lease(self) -> None:
        """Renews the lease until cancelled; raises when it is lost."""
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                async with self.lock:
                    self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
            except StoreUnavailable as error:
                logger.warning("the lease on %s could not be renewed: %s", self.lease.session, error)

    async def move(self, surface: str) -> None:
        """Makes another surface the driver and goes on writing for it. Nobody holds the lease for a moment: if recovery
        ended the turn meanwhile, this writer closes."""
        async with self.lock:
            old = self.lease
            await self.store.set_driver(old.session, surface, fence=old.driver_fence)
            self.lease = await self.store.lease(old.session, holder=old.holder, surface=surface, seconds=LEASE_SECONDS)
            if any(isinstance(kept.item, Done) for kept in await self._read_own()):
                self.closed, self._waiting = True, []

    async def release(self) -> None:
        """Releases the lease; may be called twice."""
        if self.is_free:
            return
        with suppress(*GONE, StoreUnavailable):  # then the lease is lost or will expire
            async with self.lock:
                await self.store.renew(self.lease, 0)
                self.is_free = True


@dataclass(frozen=True, slots=True)
class StartedTurn:
    """A turn that holds the lease: its record, its writer, and the session as it was at the start."""

    record: TurnRecord
    writer: TurnWriter
    session: Session


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
            if isinstance(item, Message) and item.role == "assistant":
                await self._writer.flush()
                await self._writer(
                    *self._writer.state.results("completed")
                )  # every call is paired before the next words
            await self._writer(item)

    async def _put_record(self, kind: str, key: str, value: Json) -> None:
        turn = self._turn
        record = Record(kind=kind, key=key, value=value, principal=turn.principal, session=turn.session)
        async with self._writer.lock:
            await self._store.put_record(record, lease=self._writer.lease)

    async def _compact(self, item: Compaction) -> None:
        """Stores the summary before hiding what it replaces, so that a crash in between loses nothing."""
        if not item.seqs:
            return
        first, last = min(item.seqs), max(item.seqs)
        extra = json.dumps({"summary_of": [first, last]})
        await self._writer(Message(role="system", content=item.summary, extra=extra))
        summary = int(self._writer.state.ids[-1].rpartition(":")[2])
        async with self._writer.lock:
            await self._writer.store.set_flags(self._writer.lease, item.seqs, active=False, compacted=True)
        shown: CompactionDetail = {
            "status": "kept",
            "messages": len(item.seqs),
            "from": first,
            "to": last,
            "summary": summary,
        }
        await self._writer(Progress("compaction", shown))


@asynccontextmanager
async def brief_lease(store: SessionStore, lease: Lease) -> AsyncIterator[Lease]:
    """Releases a lease that is needed only for one operation."""
    try:
        yield lease
    finally:
        with suppress(*GONE):
            await store.renew(lease, 0)
