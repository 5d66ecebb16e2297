"""Keeps what a runtime gives, each kind in its place: the log, its own state, observations, summaries."""

from __future__ import annotations

import json
from itertools import count

from sojourn.core.attachments import OBSERVATION
from sojourn.core.events import Metadata, Progress
from sojourn.core.messages import Json, Message
from sojourn.ports.records import Record, RecordStore
from sojourn.ports.runtime import Compaction, Observation, RuntimeOutput, SaveState
from sojourn.service.begun import Begun
from sojourn.service.log import Pen

STATE = "agent_state"  # what a runtime wants to find again, under `<session>/<runtime>`: no other one sees it


class Keeping:
    """For one turn."""

    def __init__(self, store: RecordStore, begun: Begun, pen: Pen) -> None:
        self._store, self._begun, self._pen = store, begun, pen
        self._numbers = count(1)

    async def __call__(self, item: RuntimeOutput) -> None:
        begun = self._begun
        if isinstance(item, SaveState):
            await self._record(STATE, f"{begun.session}/{begun.runtime}", dict(item.state))
        elif isinstance(item, Observation):
            value = {"runtime": begun.runtime, "turn": begun.id, "kind": item.kind, "data": dict(item.data)}
            await self._record(OBSERVATION, f"{begun.session}/{begun.id}/{next(self._numbers):06}", value)
        elif isinstance(item, Compaction):
            await self._compact(item)
        elif not isinstance(item, Metadata):  # a turn has one, and it is ours
            if isinstance(item, Message) and item.role == "assistant":
                await self._pen.flush()
                await self._pen(*self._pen.course.results("completed"))  # every call is paired before the next words
            await self._pen(item)

    async def _record(self, kind: str, key: str, value: Json) -> None:
        begun = self._begun
        record = Record(kind=kind, key=key, value=value, principal=begun.principal, session=begun.session)
        async with self._pen.lock:
            await self._store.put_record(record, lease=self._pen.lease)

    async def _compact(self, item: Compaction) -> None:
        """The summary is kept before what it replaces goes: wherever this is cut off, nothing is lost."""
        if not item.seqs:
            return
        first, last = min(item.seqs), max(item.seqs)
        extra = json.dumps({"summary_of": [first, last]})
        await self._pen(Message(role="system", content=item.summary, extra=extra))
        summary = int(self._pen.course.ids[-1].rpartition(":")[2])
        async with self._pen.lock:
            await self._pen.store.set_flags(self._pen.lease, item.seqs, active=False, compacted=True)
        shown: dict[str, Json] = {
            "status": "kept",
            "messages": len(item.seqs),
            "from": first,
            "to": last,
            "summary": summary,
        }
        await self._pen(Progress("compaction", shown))
