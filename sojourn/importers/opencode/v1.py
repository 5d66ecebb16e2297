"""First generation, 1.x: a message and, in rows of their own, its parts."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from sojourn.core.messages import Message
from sojourn.importers.opencode.rows import Gathering, Row, said_at
from sojourn.importers.transcript_builder import content, mapping, nonempty, rest

_PROMPT = ("role", "time", "id", "sessionID", "agent", "model", "summary", "tools")
_PROMPTED = ("text", "file", "subtask")
_ANSWERED = ("text", "reasoning", "tool")


def add(into: Gathering, rows: Sequence[Row]) -> None:
    """Messages in their order. A compaction is a prompt without words, and an answer that is the summary."""
    compactions: set[str] = set()
    for number, row in enumerate(rows, 1):
        data = into.object_in(row.data, "message", row.id)
        if data is None:
            continue
        if data.get("role") != "assistant":
            parts = _parts(into, row, _PROMPTED)
            if any(part.get("type") == "compaction" for part in parts):
                compactions.add(row.id)
            _prompt(into, row, data, parts)
        elif not into.is_left(row, data, last=number == len(rows)):
            _answer(into, row, data, _parts(into, row, _ANSWERED), compactions)


def _parts(into: Gathering, row: Row, known: Container[str]) -> list[dict[str, Any]]:
    """The parts of a message; those that say nothing are kept beside."""
    found = []
    for own, text in row.parts:
        part = into.object_in(text, "part", own)
        if part is None:
            continue
        found.append(part)
        if part.get("type") not in known:
            into.talk.keep(f"part:{part.get('type')}", text)
    return found


def _prompt(into: Gathering, row: Row, data: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """What the person typed and attached; then what opencode added in their name."""
    typed = [_shown(part) for part in parts if part.get("type") in ("text", "file") and not _is_added(part)]
    added = [_shown(part) for part in parts if _is_added(part)]
    model = mapping(data.get("model"))
    into.model = nonempty(model.get("modelID")) or into.model
    into.provider = nonempty(model.get("providerID")) or into.provider
    own, extra = row.id, rest(data, _PROMPT)
    for role, said in (("user", typed), ("system", added)):
        if said:
            moment = said_at(data, row)
            into.talk.add(Message(role=role, native_id=own, timestamp=moment, extra=extra, **content(said)))
            own, extra = f"{row.id}:added", None
    if not typed and not added:
        into.talk.keep("message", row.data)


def _is_added(part: dict[str, Any]) -> bool:
    return bool(part.get("synthetic") or part.get("ignored")) or part.get("type") == "subtask"


def _shown(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return {"type": "text", "text": str(part.get("text") or "")}
    if part.get("type") == "subtask":
        return {"type": "text", "text": str(part.get("prompt") or "")}
    return {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}


def _answer(
    into: Gathering, row: Row, data: dict[str, Any], parts: list[dict[str, Any]], compactions: set[str]
) -> None:
    into.spend(data, data.get("modelID"), data.get("providerID"))
    shown = [part for part in parts if part.get("type") in _ANSWERED]
    if data.get("summary") is True and str(data.get("parentID")) in compactions:
        summary = "\n".join(filter(None, (nonempty(part.get("text")) for part in shown if part["type"] == "text")))
        if summary and not data.get("error"):
            into.talk.summarised()
            into.talk.add(
                Message(role="system", native_id=data["parentID"], timestamp=said_at(data, row), content=summary)
            )
            return
    into.answer(row, data, shown)
    if not shown and not data.get("error"):
        into.talk.keep("message", row.data)
