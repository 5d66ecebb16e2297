"""What other sessions' events say of a session that is forgotten: that something was recalled from it, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sojourn.core.messages import Json
from sojourn.stores.records import json_value
from sojourn.text.escape import escape

IN_ITS_PLACE = "a forgotten session"
_WORDS = frozenset(("title", "origin", "reason", "text"))


def names(sessions: Iterable[str], titles: Iterable[str | None]) -> list[str]:
    """By what they are mentioned: their ids, and their titles in quotation marks."""
    return [*sessions, *(f"“{title}”" for title in titles if title)]


def as_kept(name: str) -> str:
    """How a name stands in an event's data."""
    return escape(json.dumps(name, ensure_ascii=False)[1:-1])


def without(data: str, named: Sequence[str]) -> str | None:
    """An event's data without words about them; None when it has none."""
    if not any(as_kept(name) in data for name in named):
        return None
    found = json_value(data)
    left = _without(found, named)
    return None if left == found else escape(json.dumps(left, ensure_ascii=False))


def _without(value: Json, named: Sequence[str]) -> Json:
    """An object that names one of them keeps its numbers and its kind."""
    if isinstance(value, str):
        return IN_ITS_PLACE if _names(value, named) else value
    if isinstance(value, list):
        return [_without(one, named) for one in value]
    if not isinstance(value, dict):
        return value
    is_about = any(_names(one, named) for one in value.values())
    return {
        key: IN_ITS_PLACE if is_about and key in _WORDS and isinstance(one, str) else _without(one, named)
        for key, one in value.items()
    }


def _names(value: Json, named: Sequence[str]) -> bool:
    return isinstance(value, str) and any(name in value for name in named)
