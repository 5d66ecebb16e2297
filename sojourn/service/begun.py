"""A turn on record: from the moment its request is accepted until it is over, for any process to see."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from sojourn.core.attachments import user_message as said_message
from sojourn.core.codec import decode_value, encode_value
from sojourn.core.errors import Conflict, SessionBusy
from sojourn.core.events import Done, Metadata, Yielded
from sojourn.core.messages import Json
from sojourn.core.sessions import Lease, Principal, SessionId, TurnId, new_turn_id
from sojourn.ports.records import Record, RecordStore
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.ports.store import Store
from sojourn.service.log import LEASE_SECONDS
from sojourn.service.process import is_dead, this_process

KIND = "turn"
PAUSE, TRIES = 0.05, 60  # for what only takes a moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What was said, by whom, to which runtime; and which process cares for it."""

    session: SessionId
    principal: Principal
    said: TurnRequest
    by: Caller
    runtime: str
    model: str = ""
    id: TurnId = field(default_factory=new_turn_id)
    after: int = 0
    state: Literal["queued", "running", "stopped"] = "queued"
    since: float = 0.0  # when its lease was given
    process: dict[str, Json] = field(default_factory=this_process)

    @property
    def holder(self) -> str:
        """A person's word for whoever runs it."""
        return self.by.holder or f"{self.by.surface} on {self.process['host']} (pid {self.process['pid']})"

    @property
    def who(self) -> str:
        return self.by.name or self.by.surface

    @property
    def turn(self) -> Turn:
        return Turn(id=self.id, session=self.session, after=self.after)

    def running(self, lease: Lease, after: int) -> Begun:
        return replace(self, state="running", since=lease.since, after=after)

    def opening(self) -> list[Yielded]:
        """How a turn begins in the log."""
        message = said_message(self.said.text, self.said.attachments, by=self.who)
        if self.said.internal:
            message = replace(message, extra='{"internal": true}')
        metadata = Metadata(session_id=self.session, turn_id=self.id, runtime=self.runtime, model=self.model)
        return [metadata, message]

    @property
    def key(self) -> str:
        """Under which it is on record."""
        return f"{self.session}/{self.id}"

    def record(self) -> Record:
        return Record(kind=KIND, key=self.key, value=encode_value(self), principal=self.principal, session=self.session)


async def on_record(store: RecordStore, session: SessionId | None = None) -> list[Begun]:
    """The turns that are not over, of one session or of all: those that run first, then those that wait, in order."""
    found = [decode_value(Begun, record.value) for record in await store.list_records(KIND, session=session)]
    return sorted(found, key=lambda one: (one.state != "running", one.since))


async def off_record(store: RecordStore, begun: Begun) -> None:
    await store.delete_record(KIND, begun.key)


async def running(store: Store, session: SessionId) -> Begun | None:
    """The turn that runs now, in whichever process. One whose end is written is over, though still on record."""
    found = [one for one in await on_record(store, session) if one.state == "running" and not is_dead(one.process)]
    return found[-1] if found and not await _is_over(store, session) else None


async def _is_over(store: Store, session: SessionId) -> bool:
    """Whether the last thing in the log is the end of a turn."""
    last = (await store.get(session)).last_seq
    return any([isinstance(kept.item, Done) async for kept in store.read(session, after=last - 1)])


async def lease_soon(store: Store, session: SessionId, *, holder: str, surface: str) -> Lease:
    """The lease, waiting for what only takes a moment: whoever has seen `done` may speak at once, though the
    turn has not let go yet. SessionBusy while a turn runs."""
    held_since = set[float]()
    for _ in range(TRIES):
        try:
            return await store.lease(session, holder=holder, surface=surface, seconds=LEASE_SECONDS)
        except SessionBusy as busy:
            if await running(store, session):
                raise
            held_since.add(busy.since)
            await asyncio.sleep(PAUSE)
    if len(held_since) == 1:  # all the time one holder, and no turn on record: it died at that very moment
        with suppress(Conflict):  # somebody else has just done that
            await break_lease(store, session)
    return await store.lease(session, holder=holder, surface=surface, seconds=LEASE_SECONDS)


async def break_lease(store: Store, session: SessionId) -> None:
    """The lease of a dead process is worth nothing; nobody has to wait until it runs out."""
    found = await store.get(session)
    if found.driver is not None:
        await store.drive(session, found.driver, fence=found.driver_fence)
