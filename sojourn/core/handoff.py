"""A hand-off: a session moves from one surface to another, in steps that survive a crash.

    requested ─▶ claimed ─▶ thread_ready ─▶ bound ─▶ turn_done ─▶ delivered ─▶ completed
        │           │            │            │          │            │
        ├─▶ expired ┴────────────┤            └──────────┴────────────┴─▶ failed
        └─▶ cancelled ◀──────────┘

Until `bound` the giver still owns the session, but starts no turn in it; at `bound` the wheel moves, in the same
transaction. Steps may be left out where there is nothing to do (no thread, no announcement), `bound` never.
If it fails before anything was delivered, the wheel goes back to the giver.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, NewType, get_args

from sojourn.core.errors import BeingHandedOver, Conflict
from sojourn.core.sessions import SessionId

HandoffId = NewType("HandoffId", str)
Step = Literal["thread_ready", "bound", "turn_done", "delivered"]
State = Literal[
    "requested",
    "claimed",
    "thread_ready",
    "bound",
    "turn_done",
    "delivered",
    "completed",
    "failed",
    "cancelled",
    "expired",
]
Signal = Literal[
    "claim",
    "renew",
    "thread_ready",
    "bound",
    "turn_done",
    "delivered",
    "complete",
    "fail",
    "cancel",  # a person thought better of it
    "expire",  # whoever waits has waited long enough
    "abandon",  # nobody carries it any more, and nobody may pick it up
]

BEFORE_BOUND: tuple[State, ...] = ("requested", "claimed", "thread_ready")
AFTER_BOUND: tuple[State, ...] = ("bound", "turn_done", "delivered")
LIVE: tuple[State, ...] = (*BEFORE_BOUND, *AFTER_BOUND)
OVER: tuple[State, ...] = ("completed", "failed", "cancelled", "expired")
_CARRIED: tuple[State, ...] = LIVE[1:]  # somebody has taken it on

# From where each signal may come, and where it leads. A claim of what is under way keeps the step it reached.
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
    """One attempt, kept for good. `fence` grows with every claim: only who holds the newest one goes on with it."""

    id: HandoffId
    session: SessionId
    from_surface: str
    platform: str
    target: str = ""  # where on the platform, if not its home channel
    by: str = ""  # a person's word for who asked
    state: State = "requested"
    surface: str = ""  # who drives from `bound` on
    fence: int = 0
    owner: str = ""  # the process that carries it
    until: float = 0.0  # … and until when it is believed to live
    deadline: float = 0.0  # until when it may be picked up
    driver_fence: int = 0  # the number on the wheel: the giver's, from `bound` on the receiver's
    thread_id: str = ""
    place: str = ""  # the key of the destination's conversation
    message_id: str = ""  # what was delivered there
    note: str = ""  # what a person should know, e.g. why there is no thread
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
    """Where a signal leads; Conflict where it does not belong."""
    if state == "requested" and signal == "claim":
        return "claimed"
    allowed, to = _STEPS[signal]
    if state not in allowed:
        raise Conflict(
            f"The hand-off {_WORDS[state]}: it is too {'late' if _is_past(state, signal) else 'early'} for this step "
            f"({signal}).",
            hint="Look at it again; somebody else may have gone on with it." if state in LIVE else "Ask for a new one.",
        )
    return to or state


def _is_past(state: State, signal: Signal) -> bool:
    to = _STEPS[signal][1]
    order = get_args(State)
    return state in OVER or to is None or to in OVER[1:] or order.index(state) >= order.index(to)


def visible_state(state: State) -> Literal["pending", "running", "completed", "failed"]:
    """The four words on the session's row."""
    if state == "requested":
        return "pending"
    if state in _CARRIED:
        return "running"
    return "completed" if state == "completed" else "failed"


def driver_reverts(state: State) -> bool:
    """Whether the wheel goes back to the giver if it fails now: it has moved, but nobody has heard an answer there."""
    return state in ("bound", "turn_done")


def is_stale(handoff: Handoff, now: float) -> bool:
    """Nobody may pick it up any more, and nobody carries it: the giver may go on."""
    return handoff.state in BEFORE_BOUND and now > handoff.deadline and now > handoff.until


def is_waiting(handoff: Handoff, now: float) -> bool:
    """May be claimed: it was asked for, or whoever carried it is gone. Once bound it is always worth finishing."""
    if handoff.state == "requested":
        return now <= handoff.deadline
    is_abandoned = handoff.is_live and now > handoff.until
    return is_abandoned and (handoff.state in AFTER_BOUND or now <= handoff.deadline)


def in_progress(handoff: Handoff) -> BeingHandedOver:
    """What is said to whoever wants the session for something else."""
    where = f"{handoff.platform}:{handoff.target}" if handoff.target else handoff.platform
    return BeingHandedOver(
        f'Session "{handoff.session}" is being handed to {where} ({handoff.id}: it {_WORDS[handoff.state]}).',
        hint="Wait for it, or cancel it." if handoff.state in BEFORE_BOUND else "Wait until it has ended.",
    )
