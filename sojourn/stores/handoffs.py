"""Between hand-offs and rows, and what every store says when a step may not be made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from sojourn.core.errors import BadInput, Conflict, LeaseLost, NotFound
from sojourn.core.handoff import Handoff, HandoffId, State, Step, step
from sojourn.core.redact import Redactor
from sojourn.core.sessions import SessionId
from sojourn.core.text import escape, unescape
from sojourn.stores.sql.rows import to_stored_text

_NAMES = (
    "from_surface",
    "platform",
    "target",
    "by",
    "surface",
    "owner",
    "thread_id",
    "place",
    "message_id",
    "error_code",
)
_WORDS = ("note", "error")
_PLAIN = ("fence", "until", "deadline", "driver_fence", "created_at", "claimed_at", "bound_at", "finished_at")
_COLUMN = {"by": "requested_by", "until": "lease_until"}  # words of SQL have other names there
NOT_PICKED_UP = "Nobody picked it up in time."


def columns(values: Mapping[str, Any], redact: Redactor) -> dict[str, Any]:
    """The columns of the given fields, as they may be kept."""
    row: dict[str, Any] = {}
    for name, value in values.items():
        if name in _NAMES:
            value = escape(value)
        elif name in _WORDS:
            value = to_stored_text(value, redact)
        row[_COLUMN.get(name, name)] = value
    return row


def handoff_from(row: Mapping[str, Any]) -> Handoff:
    """The hand-off a row holds."""
    texts: dict[str, Any] = {name: unescape(row[_COLUMN.get(name, name)]) for name in (*_NAMES, *_WORDS)}
    plain = {name: row[_COLUMN.get(name, name)] for name in _PLAIN}
    return Handoff(
        id=HandoffId(row["id"]), session=SessionId(row["session_id"]), state=cast(State, row["state"]), **texts, **plain
    )


def advanced(handoff: Handoff, to: Step, now: float, given: Mapping[str, str]) -> dict[str, Any]:
    """The fields that change with a step; what is not said stays as it is."""
    values: dict[str, Any] = {"state": step(handoff.state, to)}
    values |= {name: value for name, value in given.items() if value}
    if to == "bound":
        values |= {"surface": given.get("surface") or handoff.platform, "bound_at": now}
    elif given.get("surface"):
        raise BadInput("Who drives is said at the step `bound`.", hint="Leave the surface out of the other steps.")
    return values


def not_there(id: str) -> NotFound:
    return NotFound(f'There is no hand-off "{id}".', hint="It goes with its session when that is deleted.")


def overtaken(seen: Handoff, found: Handoff) -> Conflict:
    """Why a step from the state that was seen changed nothing."""
    if found.fence != seen.fence:
        return LeaseLost(
            f"The hand-off {found.id} was taken over by {found.owner}.", hint="Leave it to them; nothing is lost."
        )
    return Conflict(
        f'The hand-off {found.id} is at "{found.state}" by now, not at "{seen.state}"'
        + (f": {found.error}" if found.error else "."),
        hint="Look at it again before you go on.",
    )
