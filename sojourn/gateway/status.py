"""How the gateways get on, as everybody can see from the store: progress, not that a process exists."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from sojourn.core.codec import encode_value
from sojourn.core.handoff import Handoff
from sojourn.gateway.payloads import decode_outbound
from sojourn.ports.gateway_store import Outgoing
from sojourn.ports.store import Store

_GIST = 200  # characters of a message that a list shows
_STALE = 120.0  # seconds after which something that waits has waited too long


async def status(store: Store) -> dict[str, Any]:
    """Every gateway that is alive, its lines, and what is under way."""
    gateways, now = await store.gateways(), time.time()
    waiting = await store.list_pending_handoffs()
    return {
        "gateways": [
            {
                "id": one.id,
                "host": one.host,
                "pid": one.pid,
                "started_at": one.started_at,
                "beat_at": one.beat_at,
                "lines": {
                    name: line | {"health": health(line, now)} for name, line in one.health.get("lines", {}).items()
                },
            }
            for one in gateways
        ],
        "lines": [encode_value(one) for one in await store.line_health()],
        "handoffs_waiting": [shown(one) for one in waiting],
    }


def shown(handoff: Handoff) -> dict[str, Any]:
    """A hand-off as the API and `--json` tell it; nothing in it is secret."""
    names = (
        "id",
        "session",
        "from_surface",
        "platform",
        "target",
        "by",
        "state",
        "surface",
        "thread_id",
        "place",
        "message_id",
        "note",
        "error_code",
        "error",
        "created_at",
        "claimed_at",
        "bound_at",
        "finished_at",
    )
    return {name: getattr(handoff, name) for name in names}


def delivery(item: Outgoing) -> dict[str, Any]:
    """A line of the ledger: what was to be sent where, and what became of it."""
    names = (
        "id",
        "platform",
        "place",
        "session",
        "state",
        "attempts",
        "possible_duplicate",
        "message_id",
        "error",
        "created_at",
        "sent_at",
        "finished_at",
    )
    return {name: getattr(item, name) for name in names} | {"text": decode_outbound(item).text[:_GIST]}


def lines_of(found: dict[str, Any], now: float | None = None) -> list[str]:
    """The same in words."""
    now = time.time() if now is None else now
    if not found["gateways"]:
        return ["No gateway is running. Start one: sojourn serve, or sojourn gateway run."]
    said = list[str]()
    for one in found["gateways"]:
        said.append(f"gateway on {one['host']} (pid {one['pid']}), alive {ago(one['beat_at'], now)}")
        for name, line in sorted(one["lines"].items()):
            said.append(f"  {_sign(line, now)} {name}: {_line(line, now)}")
    for one in found["handoffs_waiting"]:
        said.append(f"hand-off {one['id']} to {one['platform']} waits since {ago(one['created_at'], now)}")
    return said


def health(line: Mapping[str, Any], now: float) -> Literal["good", "stuck", "down"]:
    """Whether a line gets anywhere: what waits on one that is up must not wait long."""
    stuck = any(now - line[name] > _STALE for name in ("oldest_waiting", "oldest_pending") if line.get(name))
    return "down" if line["state"] not in ("up", "elsewhere") else "stuck" if stuck else "good"


def _sign(line: dict[str, Any], now: float) -> str:
    return {"good": "✓", "stuck": "!", "down": "✗"}[health(line, now)]


def _line(line: dict[str, Any], now: float) -> str:
    facts = [line["state"] + (f" ({line['problem']})" if line.get("problem") else "")]
    if line.get("last_received"):
        facts.append(f"last heard {ago(line['last_received'], now)}")
    if line.get("last_sent"):
        facts.append(f"last said {ago(line['last_sent'], now)}")
    if line.get("waiting"):
        facts.append(f"{line['waiting']} waiting, the oldest since {ago(line['oldest_waiting'], now)}")
    if line.get("pending"):
        facts.append(f"{line['pending']} to be sent, the oldest since {ago(line['oldest_pending'], now)}")
    if line.get("failed"):
        facts.append(f"{line['failed']} failed")
    return ", ".join(facts)


def ago(moment: float, now: float) -> str:
    gone = max(0.0, now - moment)
    for size, word in ((86_400, "d"), (3600, "h"), (60, "min")):
        if gone >= size:
            return f"{int(gone // size)} {word} ago"
    return f"{int(gone)} s ago"
