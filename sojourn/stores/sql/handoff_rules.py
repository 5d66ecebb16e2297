"""Hand-off rules: what the store derives from the state and the deadlines of a hand-off."""

from __future__ import annotations

import os
from typing import Literal

from sojourn.core.errors import BeingHandedOver
from sojourn.core.handoff import AFTER_BOUND, BEFORE_BOUND, CARRIED, STATE_TEXTS, Handoff, HandoffId, State


def new_handoff_id() -> HandoffId:
    return HandoffId(f"h_{os.urandom(8).hex()}")


def visible_state(state: State) -> Literal["pending", "running", "completed", "failed"]:
    """Maps a state to the four words of the session's row."""
    if state == "requested":
        return "pending"
    if state in CARRIED:
        return "running"
    return "completed" if state == "completed" else "failed"


def driver_reverts(state: State) -> bool:
    """Tells whether a failure makes the sender drive again: bound, but nothing delivered yet."""
    return state in ("bound", "turn_done")


def is_stale(handoff: Handoff, now: float) -> bool:
    """Tells whether nobody can claim it and nobody holds a claim: the sender may continue."""
    return handoff.state in BEFORE_BOUND and now > handoff.deadline and now > handoff.until


def is_waiting(handoff: Handoff, now: float) -> bool:
    """Tells whether it can be claimed: requested, or its claim expired. Once bound, a deadline no longer ends it."""
    if handoff.state == "requested":
        return now <= handoff.deadline
    is_abandoned = handoff.is_live and now > handoff.until
    return is_abandoned and (handoff.state in AFTER_BOUND or now <= handoff.deadline)


def in_progress(handoff: Handoff) -> BeingHandedOver:
    """Builds the error for a caller who needs the session during a hand-off."""
    where = f"{handoff.platform}:{handoff.target}" if handoff.target else handoff.platform
    return BeingHandedOver(
        f'Session "{handoff.session}" is being handed to {where} ({handoff.id}: it {STATE_TEXTS[handoff.state]}).',
        hint="Wait for it, or cancel it." if handoff.state in BEFORE_BOUND else "Wait until it has ended.",
    )
