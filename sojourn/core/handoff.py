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

from dataclasses import dataclass
from typing import Literal, NewType, get_args

from sojourn.core.errors import Conflict
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
CARRIED: tuple[State, ...] = LIVE[1:]  # claimed by a gateway

# Allowed states of each signal, and the next state. Claiming a hand-off in progress keeps the state it reached.
_STEPS: dict[Signal, tuple[tuple[State, ...], State | None]] = {
    "claim": (CARRIED, None),
    "renew": (CARRIED, None),
    "thread_ready": (("claimed",), "thread_ready"),
    "bound": (("claimed", "thread_ready"), "bound"),
    "turn_done": (("bound",), "turn_done"),
    "delivered": (("bound", "turn_done"), "delivered"),
    "complete": (AFTER_BOUND, "completed"),
    "fail": (CARRIED, "failed"),
    "cancel": (BEFORE_BOUND, "cancelled"),
    "expire": (("requested",), "expired"),
    "abandon": (BEFORE_BOUND, "expired"),
}
STATE_TEXTS: dict[State, str] = {
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


def step(state: State, signal: Signal) -> State:
    """Applies a signal to a state. Conflict where it is not allowed."""
    if state == "requested" and signal == "claim":
        return "claimed"
    allowed, to = _STEPS[signal]
    if state not in allowed:
        timing = "late" if _is_past(state, signal) else "early"
        raise Conflict(
            f"The hand-off {STATE_TEXTS[state]}: it is too {timing} for this step ({signal}).",
            hint="Check it again; another gateway may have continued it."
            if state in LIVE
            else "Request a new hand-off.",
        )
    return to or state


def _is_past(state: State, signal: Signal) -> bool:
    to = _STEPS[signal][1]
    order = get_args(State)
    return state in OVER or to is None or to in OVER[1:] or order.index(state) >= order.index(to)
