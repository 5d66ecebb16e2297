"""What a run is started with: our conversation and our prepared context in the form Hermes takes."""

from __future__ import annotations

import hashlib
import json
import re

from sojourn.core.errors import ContextFull
from sojourn.core.messages import Json
from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.hermes.api import MOST_BYTES
from sojourn.runtimes.prompt_text import render_context, render_request, render_transcript

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def hermes_session(session: SessionId) -> str:
    """The name of our session in Hermes: always the same, and safe as a file name there."""
    safe = _UNSAFE.sub("-", session)[:200]
    mark = "" if safe == session else f"-{hashlib.sha256(session.encode()).hexdigest()[:8]}"
    return f"sojourn_{safe}{mark}"


def scope(principal: Principal) -> str:
    """Whose long-term memory Hermes uses: each person's own."""
    return f"sojourn:{_UNSAFE.sub('-', principal)[:200]}"


async def run_request(turn: TurnInput) -> dict[str, Json]:
    """The body of POST /v1/runs. Hermes loads no history for a session id, so all of it goes along."""
    body: dict[str, Json] = {
        "input": await render_request(turn) or "(nothing was said)",
        "session_id": hermes_session(turn.session.id),
        "conversation_history": [{"role": one.role, "content": one.text} for one in render_transcript(turn.history)],
    }
    if instructions := render_context(turn.blocks, turn.examples, turn.graph):
        body["instructions"] = instructions
    if turn.model:
        body["model"] = turn.model
    size = len(json.dumps(body))
    if size > MOST_BYTES:
        raise ContextFull(
            f"The conversation has {size // 1_000_000} MB as text, more than Hermes takes at once.",
            hint="Begin a new session, or attach less.",
        )
    return body
