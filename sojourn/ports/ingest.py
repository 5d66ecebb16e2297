"""The way in for whole sessions: imports and migrations write messages, no events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.importer import Transcript

Outcome = Literal["imported", "updated", "unchanged", "forgotten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What became of one foreign session."""

    native_id: str
    session: SessionId | None
    outcome: Outcome
    new_messages: int = 0
    changed_messages: int = 0
    removed_upstream: int = 0  # rows the source no longer has; ours are kept
    note: str = ""


class Ingest(Protocol):
    """Idempotent by (source, source home, native session id, native message id)."""

    async def known(self, source: str, home: str) -> dict[str, str]:
        """The fingerprint under which each session of a history was last brought in."""

    async def forgotten(self, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
        """Those sessions of a history that were forgotten here, and will not be brought in."""

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        """Brings in what is new of each (fingerprint, transcript), all of the batch or nothing of it."""

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Makes everything findable that is not yet; returns how many messages that were."""
