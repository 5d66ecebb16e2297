"""DoctorCheck: the result of one check of `sojourn doctor`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

CheckState = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class Mend:
    """What `--fix` offers: a question, and what is done after a yes."""

    question: str
    run: Callable[[], object]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The result of one check."""

    what: str
    state: CheckState
    detail: str
    hint: str = ""
    mend: Mend | None = None
