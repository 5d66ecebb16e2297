"""Turn record: the persisted state of a turn from its acceptance to its end, visible to every process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Literal

from sojourn.core.attachments import user_message as said_message
from sojourn.core.events import Metadata, Yielded
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Lease, Principal, SessionId, TurnId, new_turn_id
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.ports.store import Record, Transaction
from sojourn.processes.identity import is_dead, this_process
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import mark_identifiers

KIND = "turn"
LEASE_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRecord:
    """A request, its caller, the runtime that answers, and the process that runs it.

    The transaction that gives a turn its lease also stores its record, and the one that ends it removes both.
    """

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
    lease: Lease | None = None
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
        return replace(self, state="running", lease=lease, since=lease.since, after=after)

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
        value = mark_identifiers(encode_value(self), ("said", "holder", "name"))
        return Record(kind=KIND, key=self.key, value=value, principal=self.principal, session=self.session)


def list_active_turns(store: Transaction, session: SessionId | None = None) -> list[TurnRecord]:
    """Lists turns that are not over, of one session or of all: running ones first, then queued ones in order."""
    found = [decode_value(TurnRecord, record.value) for record in store.list_records(KIND, session=session)]
    return sorted(found, key=lambda one: (one.state != "running", one.since))


def find_running(store: Transaction, session: SessionId) -> TurnRecord | None:
    """Finds the running turn of a session in any process."""
    running = [one for one in list_active_turns(store, session) if one.state == "running"]
    return next((one for one in reversed(running) if not is_dead(one.process)), None)
