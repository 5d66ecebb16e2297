"""The hand-off that stands on a session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.core.handoff import (
    BEFORE_BOUND,
    LIVE,
    Handoff,
    Signal,
    driver_reverts,
    in_progress,
    is_stale,
    step,
    visible_state,
)
from sojourn.core.rows import safe
from sojourn.stores.handoffs import NOT_PICKED_UP, columns, handoff_from, not_there, overtaken
from sojourn.stores.memory.data import Data
from sojourn.text.escape import escape

NO_LEASE = {"lease_holder": None, "lease_surface": None, "lease_since": None, "lease_until": None}


def live(data: Data, session: str) -> Handoff | None:
    """The one that is under way; one that is stale is ended here."""
    for row in data.of("handoffs", session):
        if row["state"] in LIVE:
            found = handoff_from(row)
            if not is_stale(found, data.clock()):
                return found
            finish(data, found, "abandon", "expired", NOT_PICKED_UP)
    return None


def check_not_leaving(data: Data, session: str) -> None:
    if (found := live(data, session)) and found.state in BEFORE_BOUND:
        raise in_progress(found)


def check_not_carried(data: Data, session: str) -> None:
    if (found := live(data, session)) and (found.state in BEFORE_BOUND or found.until > data.clock()):
        raise in_progress(found)


def get(data: Data, id: str) -> Handoff:
    row = data.tables["handoffs"].get((id,))
    if row is None:
        raise not_there(id)
    return handoff_from(row)


def swap(data: Data, seen: Handoff, values: Mapping[str, Any]) -> Handoff:
    """Changes the row only if it is where it was seen."""
    found = get(data, seen.id)
    if (found.state, found.fence) != (seen.state, seen.fence):
        raise overtaken(seen, found)
    row = {**data.tables["handoffs"][(seen.id,)], **columns(values, data.redact)}
    data.tables["handoffs"][(seen.id,)] = row
    data.changed(seen.session, "handoff")
    return handoff_from(row)


def show(data: Data, handoff: Handoff) -> None:
    """What the session's row says about it."""
    row = data.session(handoff.session)
    data.update(
        handoff.session,
        handoff_state=visible_state(handoff.state),
        handoff_platform=escape(handoff.platform),
        handoff_error=safe(handoff.error or handoff.error_code or None, data.redact),
        revision=row["revision"] + 1,
    )


def finish(data: Data, seen: Handoff, signal: Signal, code: str = "", error: str = "", **more: str) -> Handoff:
    """The last step, whichever it is. The wheel goes back where nobody has heard anything yet."""
    state = step(seen.state, signal)
    given = {"error_code": code, "error": error, **{name: value for name, value in more.items() if value}}
    done = swap(data, seen, {"state": state, "finished_at": data.clock(), "until": 0.0, **given})
    row = data.session(seen.session)
    if state == "failed" and driver_reverts(seen.state) and row["driver"] == escape(seen.surface):
        data.update(seen.session, driver=escape(seen.from_surface), driver_fence=row["driver_fence"] + 1, **NO_LEASE)
    show(data, done)
    return done
