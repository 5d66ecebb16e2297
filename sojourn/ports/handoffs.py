"""HandoffStore: stores hand-offs; every step is a compare-and-swap that also moves the driver.

Before `bound`, leasing, taking over or deleting the session raises Conflict; the sender may read, rename and cancel.
From `bound` on the receiver drives, and writes under the sender's lease raise NotDriving. Taking the session over
ends the hand-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from sojourn.core.handoff import Handoff, HandoffId, Step
from sojourn.core.sessions import SessionId


class HandoffStore(Protocol):
    """Hand-offs of all sessions. Each change appears in the change feed as `handoff`."""

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
        """Requests a hand-off that gateways may claim for `seconds`. SessionBusy during a turn, NotDriving if `surface`
        is not the driver, Conflict during another hand-off, NotFound."""

    async def get_handoff(self, id: HandoffId) -> Handoff: ...  # NotFound
    async def get_handoff_state(self, session: SessionId) -> Handoff | None: ...  # the newest attempt; NotFound
    async def handoffs(self, session: SessionId | None, *, limit: int = 100) -> list[Handoff]:
        """The hand-offs of a session (None: of all), newest first. NotFound."""

    async def list_pending_handoffs(self, platforms: Sequence[str] | None = None) -> list[Handoff]:
        """The hand-offs that may be claimed, oldest first: requested ones, and those whose claim expired."""

    async def claim_handoff(
        self, owner: str, *, platforms: Sequence[str] | None = None, id: HandoffId | None = None, seconds: float = 30.0
    ) -> Handoff | None:
        """Claims the oldest pending hand-off, or `id`; None if there is none. It keeps the step it had reached."""

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
        """Takes the next step from the state and fence in `handoff`, and stores the other arguments that are not empty.
        At `bound`, `surface` becomes the driver (default: the platform). LeaseLost, Conflict."""

    async def complete_handoff(self, handoff: Handoff, *, message_id: str = "", note: str = "") -> Handoff: ...
    async def fail_handoff(self, handoff: Handoff, code: str, error: str = "") -> Handoff:
        """Ends it as failed. If nothing was delivered yet, the sender drives again, in the same transaction."""

    async def cancel_handoff(
        self, id: HandoffId, *, as_: Literal["cancelled", "expired"] = "cancelled", error: str = ""
    ) -> Handoff:
        """Ends it without its owner: as `cancelled` before `bound`, as `expired` while nobody claimed it. Conflict."""

    async def expire_handoffs(self) -> list[Handoff]:
        """Expires the hand-offs that nobody may claim any more and nobody holds."""
