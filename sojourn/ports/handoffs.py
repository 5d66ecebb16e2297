"""HandoffStore: every step of a hand-off is a compare-and-swap, and the wheel moves with it.

While one is before `bound`, nobody gets a turn lease on the session, takes its wheel or deletes it (Conflict): the
giver can read, retitle and cancel. From `bound` on the receiver drives, and whatever the giver still wants to write,
end or delete with a lease is refused (NotDriving). Taking the wheel back ends the hand-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from sojourn.core.handoff import Handoff, HandoffId, Step
from sojourn.core.sessions import SessionId


class HandoffStore(Protocol):
    """Each change is told in the feed of changes as `handoff`. An id never rotates, so none is lost on the way."""

    async def request_handoff(
        self,
        session: SessionId,
        platform: str,
        *,
        surface: str,
        target: str = "",
        by: str = "",
        seconds: float = 3600.0,
    ) -> Handoff:
        """Asks for it, for so many seconds. SessionBusy mid-turn, NotDriving from another surface than the driver,
        Conflict while one is under way, NotFound."""

    async def get_handoff(self, id: HandoffId) -> Handoff: ...  # NotFound
    async def get_handoff_state(self, session: SessionId) -> Handoff | None: ...  # the newest attempt; NotFound
    async def handoffs(self, session: SessionId | None, *, limit: int = 100) -> list[Handoff]:
        """Newest first; None: of all sessions. NotFound."""

    async def list_pending_handoffs(self, platforms: Sequence[str] | None = None) -> list[Handoff]:
        """Those that may be claimed, oldest first: asked for, or given up by an owner whose time ran out."""

    async def claim_handoff(
        self, owner: str, *, platforms: Sequence[str] | None = None, id: HandoffId | None = None, seconds: float = 30.0
    ) -> Handoff | None:
        """The oldest that may be claimed (or that one), for one owner of many; None when there is none.
        One that was under way keeps the step it had reached."""

    async def renew_handoff(self, handoff: Handoff, seconds: float = 30.0) -> Handoff: ...  # LeaseLost, Conflict
    async def advance_handoff(
        self,
        handoff: Handoff,
        step: Step,
        *,
        surface: str = "",
        place: str = "",
        thread_id: str = "",
        message_id: str = "",
        note: str = "",
    ) -> Handoff:
        """The next step, from the state and fence in `handoff`; what is given is kept. At `bound` the wheel goes to
        `surface` (the platform, if none is named). LeaseLost, Conflict."""

    async def complete_handoff(self, handoff: Handoff, *, message_id: str = "", note: str = "") -> Handoff: ...
    async def fail_handoff(self, handoff: Handoff, code: str, error: str = "") -> Handoff:
        """By its owner. Before anything was delivered the wheel goes back to the giver, in the same transaction."""

    async def cancel_handoff(
        self, id: HandoffId, *, as_: Literal["cancelled", "expired"] = "cancelled", error: str = ""
    ) -> Handoff:
        """By whoever waits. `cancelled` until it is bound; `expired` only while nobody has picked it up. Conflict."""

    async def expire_handoffs(self) -> list[Handoff]:
        """Ends those that nobody may pick up any more and nobody carries."""
