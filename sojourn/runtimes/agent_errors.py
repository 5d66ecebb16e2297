"""Translates the error text of another agent into Sojourn's errors."""

from __future__ import annotations

import re

from sojourn.core.errors import ContextFull, KeyRefused, RateLimited, RuntimeFailed
from sojourn.text.ansi import strip_control

_HTTP_STATUS = re.compile(r"\b(?:HTTP|status|code:?)\s+(\d{3})\b", re.IGNORECASE)
_CONTEXT_FULL = re.compile(r"context.{0,20}(length|window|limit)|maximum context|too many tokens", re.IGNORECASE)


def to_agent_error(agent: str, text: str) -> RuntimeFailed:
    """Returns the error for the HTTP status or limit that the agent's text names, with that text as its message."""
    message, status = f"{agent} could not finish: {strip_control(text).strip()}", _HTTP_STATUS.search(text)
    number = status[1] if status else ""
    if number in ("401", "403"):
        return KeyRefused(message, hint=f"{agent} uses this key for its own model: correct it in its settings.")
    if number == "429":
        return RateLimited(message, hint=f"The model behind {agent} asks for a pause; try again in a moment.")
    if _CONTEXT_FULL.search(text):
        return ContextFull(message, hint="Begin a new session, or attach less.")
    return RuntimeFailed(message, hint=f"The log of {agent} says more.")
