"""Turn record: the persisted state of a turn from its acceptance to its end, visible to every process."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from sojourn.core.attachments import user_message as said_message
from sojourn.core.errors import Conflict, SessionBusy
from sojourn.core.events import Done, Metadata, Yielded
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Lease, Principal, SessionId, TurnId, new_turn_id
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.ports.store import Record, RecordStore, Store
from sojourn.process_identity import is_dead, this_process
from sojourn.text.codec import decode_value, encode_value

KIND = "turn"
LEASE_SECONDS = 30.0
RETRY_SECONDS, MAX_RETRIES = 0.05, 60  # while a lease is about to be released


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A request, its caller, the runtime that answers, and the process that runs it."""

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
        """Names the process that runs the turn, for people."""
        return self.by.holder or f"{self.by.surface} on {self.process['host']} (pid {self.process['pid']})"

    @property
    def caller_label(self) -> str:
        return self.by.name or self.by.surface

    @property
    def turn(self) -> Turn:
        return Turn(id=self.id, session=self.session, after=self.after)

    def running(self, lease: Lease, after: int) -> TurnRecord:
        return replace(self, state="running", since=lease.since, after=after)

    @property
    def message(self) -> Message:
        """The request as it is stored."""
        message = said_message(self.said.text, self.said.attachments, by=self.caller_label)
        if self.said.internal:
            message = replace(message, extra='{"internal": true}')
        elif self.said.provenance is not None:
            message = replace(message, extra=json.dumps({"by": self.caller_label, "foreign": True}))
        return message

    def opening(self) -> list[Yielded]:
        """The first items of a turn in the log."""
        return [
            Metadata(session_id=self.session, turn_id=self.id, runtime=self.runtime, model=self.model),
            self.message,
        ]

    @property
    def key(self) -> str:
        """The key of its store record."""
        return f"{self.session}/{self.id}"

    def to_record(self) -> Record:
        return Record(kind=KIND, key=self.key, value=encode_value(self), principal=self.principal, session=self.session)


async def list_active_turns(store: RecordStore, session: SessionId | None = None) -> list[TurnRecord]:
    """Lists turns that are not over, of one session or of all: running ones first, then queued ones in order."""
    found = [decode_value(TurnRecord, record.value) for record in await store.list_records(KIND, session=session)]
    return sorted(found, key=lambda one: (one.state != "running", one.since))


async def remove_turn(store: RecordStore, record: TurnRecord) -> None:
    await store.delete_record(KIND, record.key)


async def find_running(store: Store, session: SessionId) -> TurnRecord | None:
    """Finds the running turn of a session in any process. One whose `done` is stored counts as over."""
    found = [
        one for one in await list_active_turns(store, session) if one.state == "running" and not is_dead(one.process)
    ]
    return found[-1] if found and not await _is_over(store, session) else None


async def _is_over(store: Store, session: SessionId) -> bool:
    """Whether the last item in the log is a `done`."""
    last = (await store.get(session)).last_seq
    return any([isinstance(kept.item, Done) async for kept in store.read(session, after=last - 1)])


async def acquire_lease(store: Store, session: SessionId, *, holder: str, surface: str) -> Lease:
    """Acquires the lease, retrying while a turn that has ended releases it. SessionBusy while a turn runs."""
    held_since = set[float]()
    for _ in range(MAX_RETRIES):
        try:
            return await store.lease(session, holder=holder, surface=surface, seconds=LEASE_SECONDS)
        except SessionBusy as busy:
            if await find_running(store, session):
                raise
            held_since.add(busy.since)
            await asyncio.sleep(RETRY_SECONDS)
    if len(held_since) == 1:  # one holder all the time and no turn record: its process died
        with suppress(Conflict):  # another process has just broken it
            await break_lease(store, session)
    return await store.lease(session, holder=holder, surface=surface, seconds=LEASE_SECONDS)


async def break_lease(store: Store, session: SessionId) -> None:
    """Invalidates the lease of a dead process, so that nobody waits until it expires."""
    found = await store.get(session)
    if found.driver is not None:
        await store.set_driver(session, found.driver, fence=found.driver_fence)
