"""Hand-off: the state machine that moves a session from one surface to another and survives crashes.

    requested ─▶ claimed ─▶ thread_ready ─▶ bound ─▶ turn_done ─▶ delivered ─▶ completed
        │           │            │            │          │            │
        ├─▶ expired ┴────────────┤            └──────────┴────────────┴─▶ failed
        └─▶ cancelled ◀──────────┘

Until `bound` the sending surface drives the session but starts no turn in it; the transaction of `bound` makes the
receiving surface the driver. Steps without work (no thread, no announcement) may be skipped, `bound` never. If a
hand-off fails before anything was delivered, the sending surface drives again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, NewType, get_args

from sojourn.core.errors import BeingHandedOver, Conflict
from sojourn.core.sessions import SessionId

HandoffId = NewType("HandoffId", str)
Step = Literal["thread_ready", "bound", "turn_done", "delivered"]
State = Literal["requested", "claimed", Step, "completed", "failed", "cancelled", "expired"]
# `cancel`: by a person; `expire`: nobody claimed it in time; `abandon`: its owner is gone and its deadline has passed
Signal = Literal["claim", "renew", Step, "complete", "fail", "cancel", "expire", "abandon"]

LOCAL_SURFACES = ("cli", "web")  # a session can move here without a chat network
BEFORE_BOUND: tuple[State, ...] = ("requested", "claimed", "thread_ready")
AFTER_BOUND: tuple[State, ...] = ("bound", "turn_done", "delivered")
LIVE: tuple[State, ...] = (*BEFORE_BOUND, *AFTER_BOUND)
OVER: tuple[State, ...] = ("completed", "failed", "cancelled", "expired")
_CARRIED: tuple[State, ...] = LIVE[1:]  # claimed by a gateway

# Allowed states of each signal, and the next state. Claiming a hand-off in progress keeps the state it reached.
_STEPS: dict[Signal, tuple[tuple[State, ...], State | None]] = {
    "claim": (_CARRIED, None),
    "renew": (_CARRIED, None),
    "thread_ready": (("claimed",), "thread_ready"),
    "bound": (("claimed", "thread_ready"), "bound"),
    "turn_done": (("bound",), "turn_done"),
    "delivered": (("bound", "turn_done"), "delivered"),
    "complete": (AFTER_BOUND, "completed"),
    "fail": (_CARRIED, "failed"),
    "cancel": (BEFORE_BOUND, "cancelled"),
    "expire": (("requested",), "expired"),
    "abandon": (BEFORE_BOUND, "expired"),
}
_WORDS: dict[State, str] = {
    "requested": "waits to be picked up",
    "claimed": "was picked up",
    "thread_ready": "has its thread",
    "bound": "has arrived",
    "turn_done": "has its answer",
    "delivered": "was delivered",
    "completed": "is completed",
    "failed": "has failed",
    "cancelled": "was cancelled",
    "expired": "was not picked up",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """One attempt, stored for good. `fence` grows with every claim; only the holder of the newest one may continue."""

    id: HandoffId
    session: SessionId
    from_surface: str
    platform: str
    target: str = ""  # where on the platform, if not its home channel
    by: str = ""  # the person who asked
    state: State = "requested"
    surface: str = ""  # the driver from `bound` on
    fence: int = 0
    owner: str = ""  # the gateway that claimed it
    until: float = 0.0  # when that claim expires
    deadline: float = 0.0  # when it can no longer be claimed
    driver_fence: int = 0  # fence of the driver: the sender's, from `bound` on the receiver's
    thread_id: str = ""
    place: str = ""  # the key of the destination's conversation
    message_id: str = ""  # of the first delivered message
    note: str = ""  # shown to people, e.g. why there is no thread
    error_code: str = ""
    error: str = ""
    created_at: float = 0.0
    claimed_at: float | None = None
    bound_at: float | None = None
    finished_at: float | None = None

    @property
    def is_live(self) -> bool:
        return self.state in LIVE


def new_handoff_id() -> HandoffId:
    return HandoffId(f"h_{os.urandom(8).hex()}")


def step(state: State, signal: Signal) -> State:
    """Applies a signal to a state. Conflict where it is not allowed."""
    if state == "requested" and signal == "claim":
        return "claimed"
    allowed, to = _STEPS[signal]
    if state not in allowed:
        raise Conflict(
            f"The hand-off {_WORDS[state]}: it is too {'late' if _is_past(state, signal) else 'early'} for this step "
            f"({signal}).",
            hint="Check it again; another gateway may have continued it."
            if state in LIVE
            else "Request a new hand-off.",
        )
    return to or state


def _is_past(state: State, signal: Signal) -> bool:
    to = _STEPS[signal][1]
    order = get_args(State)
    return state in OVER or to is None or to in OVER[1:] or order.index(state) >= order.index(to)


def visible_state(state: State) -> Literal["pending", "running", "completed", "failed"]:
    """Maps a state to the four words of the session's row."""
    if state == "requested":
        return "pending"
    if state in _CARRIED:
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
        f'Session "{handoff.session}" is being handed to {where} ({handoff.id}: it {_WORDS[handoff.state]}).',
        hint="Wait for it, or cancel it." if handoff.state in BEFORE_BOUND else "Wait until it has ended.",
    )
