"""How the store is, as a value that every surface shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HealthState = Literal["healthy", "degraded", "read-only", "recovering"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state, the real error behind it and the next step."""

    state: HealthState
    store: str  # where it is, without passwords
    readable: bool = True
    code: str = "ok"
    error: str = ""
    hint: str = ""
