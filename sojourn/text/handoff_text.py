"""Texts about a hand-off, for people: the step it has reached and how it ended."""

from __future__ import annotations

from sojourn.core.handoff import LOCAL_SURFACES, Handoff, State
from sojourn.core.sessions import Session

_STEPS: dict[State, str] = {
    "requested": "requested; waiting for a gateway",
    "claimed": "picked up",
    "thread_ready": "the place is ready",
    "bound": "arrived; the agent says hello",
    "turn_done": "answered",
    "delivered": "delivered",
}


def step_text(handoff: Handoff) -> str:
    """The step a live hand-off has reached, for people; empty when it is over."""
    return _STEPS.get(handoff.state, "")


def summary_text(handoff: Handoff, session: Session) -> str:
    """How a hand-off ended, for people."""
    name = session.title or session.id
    if handoff.state != "completed":
        why = handoff.error or handoff.error_code or handoff.state
        return f"The hand-off did not work: {why} The session here is intact."
    if handoff.platform == "cli":
        return f"“{name}” waits in the terminal: sojourn chat --session {session.id}"
    if handoff.platform in LOCAL_SURFACES:
        return f"“{name}” is driven from {handoff.platform} now."
    note = f" {handoff.note}" if handoff.note else ""
    return f"“{name}” is on {handoff.platform} now.{note} Come back with: /resume {name}"
