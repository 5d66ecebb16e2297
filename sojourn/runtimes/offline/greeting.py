"""Greeting after a hand-off: the session's title and its last exchange."""

from __future__ import annotations

import json

from sojourn.core.messages import Message, text_of
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.offline.intents import is_chinese
from sojourn.runtimes.offline.turn_output import render_reply

_MAX_QUOTE_CHARS = 280


def render_greeting(turn: TurnInput) -> str:
    """Renders the greeting. The hand-off's announcement is not a request, and is neither quoted nor answered."""
    messages = [past.message for past in reversed(turn.history) if text_of(past.message).strip()]
    asked = next((_quote(one) for one in messages if one.role == "user" and not _is_internal(one)), "")
    answered = next((_quote(one) for one in messages if one.role == "assistant"), "")
    chinese = is_chinese(asked or turn.session.title or "")
    last = render_reply("arrived_asked", chinese, words=asked) if asked else ""
    last += render_reply("arrived_answered", chinese, words=answered) if answered else ""
    title = turn.session.title or render_reply("untitled", chinese)
    return render_reply("arrived", chinese, title=title, last=last or render_reply("arrived_nothing", chinese)).strip()


def _is_internal(message: Message) -> bool:
    try:
        extra = json.loads(message.extra or "{}")
    except ValueError:
        return False
    return isinstance(extra, dict) and bool(extra.get("internal"))


def _quote(message: Message) -> str:
    line = " ".join(text_of(message).split())
    return line if len(line) <= _MAX_QUOTE_CHARS else line[:_MAX_QUOTE_CHARS].rstrip() + " …"
