"""Arriving somewhere else: a session that was handed over says hello there, and where things stand."""

from __future__ import annotations

import json

from sojourn.core.messages import Message, text_of
from sojourn.ports.runtime import TurnInput
from sojourn.runtimes.offline.replies import say
from sojourn.runtimes.offline.wishes import is_chinese

_MOST = 280  # characters of what was said


def where_things_stand(turn: TurnInput) -> str:
    """The title and the last exchange. The announcement itself is no request, and is not answered as one."""
    said = [past.message for past in turn.history if past.message.role in ("user", "assistant")]
    asked = next((_words(one) for one in reversed(said) if one.role == "user" and _is_a_persons(one)), "")
    answered = next((_words(one) for one in reversed(said) if one.role == "assistant" and text_of(one).strip()), "")
    chinese = is_chinese(asked or turn.session.title or "")
    last = say("arrived_asked", chinese, words=asked) if asked else ""
    last += say("arrived_answered", chinese, words=answered) if answered else ""
    title = turn.session.title or say("untitled", chinese)
    return say("arrived", chinese, title=title, last=last or say("arrived_nothing", chinese)).strip()


def _is_a_persons(message: Message) -> bool:
    try:
        about = json.loads(message.extra or "{}")
    except ValueError:
        return True
    return bool(text_of(message).strip()) and not (isinstance(about, dict) and about.get("internal"))


def _words(message: Message) -> str:
    """The opening words on one line."""
    line = " ".join(text_of(message).split())
    return line if len(line) <= _MOST else line[:_MOST].rstrip() + " …"
