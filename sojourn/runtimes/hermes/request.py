"""Builds the request that starts a run: the conversation and the prepared context in Hermes' format."""

from __future__ import annotations

import hashlib
import json
import re

from sojourn.core.errors import ContextFull
from sojourn.core.messages import Json
from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.hermes.api import MAX_REQUEST_BYTES
from sojourn.runtimes.prompt_text import render_context, render_request, render_transcript

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def to_session_name(session: SessionId) -> str:
    """Returns the name of our session in Hermes: stable, and safe as a file name."""
    safe = _UNSAFE.sub("-", session)[:200]
    mark = "" if safe == session else f"-{hashlib.sha256(session.encode()).hexdigest()[:8]}"
    return f"sojourn_{safe}{mark}"


def to_memory_scope(principal: Principal) -> str:
    """Returns the scope of Hermes' long-term memory: one per principal."""
    return f"sojourn:{_UNSAFE.sub('-', principal)[:200]}"


async def build_run_request(turn: TurnInput) -> dict[str, Json]:
    """Returns the body of POST /v1/runs, with the whole history: Hermes loads none for a session id."""
    body: dict[str, Json] = {
        "input": await render_request(turn) or "(nothing was said)",
        "session_id": to_session_name(turn.session.id),
        "conversation_history": [{"role": one.role, "content": one.text} for one in render_transcript(turn.history)],
    }
    if instructions := render_context(turn.blocks, turn.examples, turn.graph):
        body["instructions"] = instructions
    if turn.model:
        body["model"] = turn.model
    size = len(json.dumps(body))
    if size > MAX_REQUEST_BYTES:
        raise ContextFull(
            f"The conversation has {size // 1_000_000} MB as text, more than Hermes accepts at once.",
            hint="Begin a new session, or attach less.",
        )
    return body
