"""The status of the gateways and hand-offs, read from the store, as JSON and as text."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal

from sojourn.core.handoff import Handoff
from sojourn.gateway.payloads import decode_outbound
from sojourn.ports.gateway_store import Heartbeat, Outgoing
from sojourn.ports.store import Store
from sojourn.text.codec import encode_value
from sojourn.text.formatting import format_age

_EXCERPT_CHARS = 200
_STUCK_SECONDS = 120.0  # a message that waits longer on a connection that is up is stuck
_MARKS = {"good": "✓", "stuck": "!", "down": "✗"}
# What gateways need of a row, and other readers do not.
_INTERNAL_FIELDS = frozenset(
    ("key", "account", "payload", "health", "owner", "fence", "driver_fence", "until", "deadline", "next_try_at")
)


async def read_status(store: Store) -> dict[str, Any]:
    """Every live gateway with its connections, the progress of each account, and the pending hand-offs."""
    gateways, now = await store.gateways(), time.time()
    return {
        "gateways": [_to_public(one) | {"lines": _rate_connections(one, now)} for one in gateways],
        "lines": [encode_value(one) for one in await store.line_health()],
        "handoffs_waiting": [handoff_to_json(one) for one in await store.list_pending_handoffs()],
    }


async def find_line_states(store: Store) -> dict[str, dict[str, Any]]:
    """The connection of each network that a live gateway serves; one that is up is preferred."""
    found: dict[str, dict[str, Any]] = {}
    for gateway in await store.gateways():
        for name, line in _rate_connections(gateway, time.time()).items():
            if found.get(name, {}).get("state") != "up":
                found[name] = line
    return found


def handoff_to_json(handoff: Handoff) -> dict[str, Any]:
    """A hand-off for the API and `--json`; without secrets."""
    return _to_public(handoff)


def delivery_to_json(item: Outgoing) -> dict[str, Any]:
    """An outbox row with the beginning of its text."""
    text = decode_outbound(item).text[:_EXCERPT_CHARS]
    return _to_public(item) | {"text": text}


def _to_public(row: Handoff | Outgoing | Heartbeat) -> dict[str, Any]:
    return {name: value for name, value in encode_value(row).items() if name not in _INTERNAL_FIELDS}


def _rate_connections(gateway: Heartbeat, now: float) -> dict[str, Any]:
    connections = gateway.health.get("lines", {}).items()
    return {name: connection | {"health": rate_health(connection, now)} for name, connection in connections}


def rate_health(connection: Mapping[str, Any], now: float) -> Literal["good", "stuck", "down"]:
    """Whether a connection makes progress: one that is up must not let messages wait for long."""
    if connection["state"] not in ("up", "elsewhere"):
        return "down"
    waiting = [connection[name] for name in ("oldest_waiting", "oldest_pending") if connection.get(name)]
    return "stuck" if any(now - since > _STUCK_SECONDS for since in waiting) else "good"


def render_status(status: dict[str, Any]) -> str:
    """The status as text."""
    now = time.time()
    if not status["gateways"]:
        return "No gateway is running. Start one: sojourn serve, or sojourn gateway run."
    lines = list[str]()
    for one in status["gateways"]:
        lines.append(f"gateway on {one['host']} (pid {one['pid']}), last heartbeat {format_age(one['beat_at'], now)}")
        for name, connection in sorted(one["lines"].items()):
            lines.append(f"  {_MARKS[rate_health(connection, now)]} {name}: {render_connection(connection, now)}")
    for one in status["handoffs_waiting"]:
        age = format_age(one["created_at"], now)
        lines.append(f"hand-off {one['id']} to {one['platform']} is pending, requested {age}")
    return "\n".join(lines)


def render_connection(connection: dict[str, Any], now: float) -> str:
    problem = f" ({connection['problem']})" if connection.get("problem") else ""
    facts = [connection["state"] + problem]
    if connection.get("last_received"):
        facts.append(f"last received {format_age(connection['last_received'], now)}")
    if connection.get("last_sent"):
        facts.append(f"last sent {format_age(connection['last_sent'], now)}")
    if connection.get("waiting"):
        oldest = format_age(connection["oldest_waiting"], now)
        facts.append(f"{connection['waiting']} to handle (oldest: {oldest})")
    if connection.get("pending"):
        oldest = format_age(connection["oldest_pending"], now)
        facts.append(f"{connection['pending']} to send (oldest: {oldest})")
    if connection.get("failed"):
        facts.append(f"{connection['failed']} failed")
    return ", ".join(facts)
