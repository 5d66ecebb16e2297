"""What an agent of another make says went wrong with its model, as errors of ours."""

from __future__ import annotations

import re

from sojourn.core.errors import ContextFull, KeyRefused, RateLimited, RuntimeFailed
from sojourn.text.ansi import strip_control

_HTTP = re.compile(r"\b(?:HTTP|status|code:?)\s+(\d{3})\b", re.IGNORECASE)
_FULL = re.compile(r"context.{0,20}(length|window|limit)|maximum context|too many tokens", re.IGNORECASE)


def complaint(agent: str, words: str) -> RuntimeFailed:
    """The agent's own sentence, under the code it deserves."""
    told, status = f"{agent} could not finish: {strip_control(words).strip()}", _HTTP.search(words)
    number = status[1] if status else ""
    if number in ("401", "403"):
        return KeyRefused(told, hint=f"This is the key {agent} has for its own model: correct it in its settings.")
    if number == "429":
        return RateLimited(told, hint=f"The model behind {agent} wants a pause; try again in a moment.")
    if _FULL.search(words):
        return ContextFull(told, hint="Begin a new session, or attach less.")
    return RuntimeFailed(told, hint=f"The log of {agent} says more.")
