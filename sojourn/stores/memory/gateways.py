"""Who is at work, in dictionaries; and the journal's bell."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sojourn.core.errors import LeaseLost
from sojourn.ports.gateway_store import ConnectionHealth, CredentialLease, Heartbeat, Topic
from sojourn.stores.journal import GATEWAYS
from sojourn.stores.memory.data import Data
from sojourn.stores.memory.waking import Waking
from sojourn.stores.records import json_text, json_value
from sojourn.text.escape import unescape


def health(data: Data) -> list[ConnectionHealth]:
    lines = {(row["platform"], row["account"]) for box in ("inbox", "outbox") for row in data.tables[box].values()}
    return sorted((_line(data, *line) for line in lines), key=lambda line: (line.platform, line.account))


def _line(data: Data, platform: str, account: str) -> ConnectionHealth:
    def of(box: str) -> list[Any]:
        rows = data.tables[box].values()
        return [row for row in rows if (row["platform"], row["account"]) == (platform, account)]

    inbox, outbox = of("inbox"), of("outbox")
    waiting = [row["received_at"] for row in inbox if row["state"] in ("waiting", "running")]
    pending = [row["created_at"] for row in outbox if row["state"] in ("pending", "sending")]
    return ConnectionHealth(
        platform=unescape(platform),
        account=unescape(account),
        waiting=len(waiting),
        pending=len(pending),
        oldest_waiting=min(waiting, default=None),
        oldest_pending=min(pending, default=None),
        last_received=max((row["received_at"] for row in inbox), default=None),
        last_sent=max((row["sent_at"] for row in outbox if row["sent_at"] is not None), default=None),
        failed=sum(row["state"] == "failed" for row in (*inbox, *outbox)),
    )


def prune(data: Data, before: float) -> int:
    gone = 0
    for box, over in (("inbox", ("done", "failed")), ("outbox", ("sent", "delivered", "failed"))):
        rows = data.tables[box]
        old = [
            key
            for key, row in rows.items()
            if row["state"] in over and (row["finished_at"] or row.get("sent_at") or 0.0) < before
        ]
        gone += len(old)
        for key in old:
            del rows[key]
        if box == "inbox":
            data.drop_files({key[0] for key in old})
    dead: Any
    for dead in (data.gateways, data.holds):
        late = [key for key, one in dead.items() if one.until < before]
        gone += len(late)
        for key in late:
            del dead[key]
    return gone


class MemoryGateways(Waking):
    """ports.journal.Gateways over dictionaries."""

    async def beat(self, heartbeat: Heartbeat, *, seconds: float = 15.0) -> Heartbeat:
        with self._writing() as data:
            now, known = data.clock(), data.gateways.get(heartbeat.id)
            kept = replace(
                heartbeat,
                health=json_value(json_text(dict(heartbeat.health), data.redact)),
                beat_at=now,
                started_at=known.started_at if known else heartbeat.started_at or now,
                until=now + seconds,
            )
            data.gateways[heartbeat.id] = kept
            data.touched.add(GATEWAYS)
            return kept

    async def gateways(self, *, alive: bool = True) -> list[Heartbeat]:
        now = self._data.clock()
        found = (self._data.gateways[id] for id in sorted(self._data.gateways, key=json.dumps))
        return [one for one in found if not alive or one.until > now]

    async def retire_gateway(self, id: str) -> bool:
        with self._writing() as data:
            data.touched.add(GATEWAYS)
            return data.gateways.pop(id, None) is not None

    async def lease_credential(self, credential: str, owner: str, *, seconds: float = 30.0) -> CredentialLease | None:
        held, now = self._data.holds.get(credential), self._data.clock()
        if held and held.owner != owner and held.until >= now:
            return None
        fence = 1 if held is None else held.fence + (held.owner != owner)
        self._data.holds[credential] = kept = CredentialLease(
            credential=credential, owner=owner, fence=fence, until=now + seconds
        )
        return kept

    async def renew_credential(self, hold: CredentialLease, *, seconds: float = 30.0) -> CredentialLease:
        with self._writing() as data:
            held = data.holds.get(hold.credential)
            if held is None or (held.owner, held.fence) != (hold.owner, hold.fence):
                raise LeaseLost(
                    f'The credential "{hold.credential}" is used by another process now.',
                    hint="Stop using it; one process at a time may.",
                )
            if not seconds > 0:
                data.touched.add(GATEWAYS)
            kept = replace(held, until=data.clock() + seconds if seconds > 0 else 0.0)
            data.holds[hold.credential] = kept
            return kept

    async def line_health(self) -> list[ConnectionHealth]:
        return health(self._data)

    async def prune_journal(self, before: float) -> int:
        return prune(self._data, before)

    async def watch_gateway(self, *topics: Topic, seconds: float = 2.0) -> AsyncGenerator[None, None]:
        with self._listening() as rung:
            while True:
                rung.clear()
                yield
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await rung.wait()
