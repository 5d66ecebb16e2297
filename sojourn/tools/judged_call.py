"""Judged call: what the question before a call was about, kept until it runs. Exactly that is read or written.

It belongs to one call: calls that run at the same time cannot take each other's answer.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from sojourn.core.errors import NotAllowed
from sojourn.tools.safe_open import FileDraft, ResolvedPath


@dataclass(slots=True)
class JudgedCall:
    """place: what is read; drafts: what is written. Nothing before the question was built."""

    place: ResolvedPath | None = None
    drafts: tuple[FileDraft, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether the tool compares what it does with this; asking again would replace it."""
        return self.place is not None or bool(self.drafts)


_CURRENT: ContextVar[JudgedCall | None] = ContextVar("judged_call", default=None)


def begin_call() -> None:
    """Forgets what an earlier call of this task was about."""
    _CURRENT.set(JudgedCall())


def judged_call() -> JudgedCall:
    """The judgement of the call that this task runs; an empty one outside a guarded call."""
    return _CURRENT.get() or JudgedCall()


def require_same_place(judged: ResolvedPath, now: ResolvedPath) -> None:
    """Raises NotAllowed when a path leads somewhere else than when it was asked about."""
    if judged != now:
        raise NotAllowed(
            f"{judged.shown} was meant, but the path was made to lead to {now.shown} meanwhile.",
            hint="Look at it again first.",
        )
