"""Health of the store, as every surface shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

HealthState = Literal["healthy", "degraded", "read-only", "recovering"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A state, the error behind it and the next step."""

    state: HealthState
    store: str  # its address, without passwords
    readable: bool = True
    code: str = "ok"
    error: str = ""
    hint: str = ""
