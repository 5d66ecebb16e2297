"""What `--json` prints. These keys are for ever: docs/reference/cli.md lists them. Times are ISO 8601 in UTC."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sojourn.cli.formatting import to_iso
from sojourn.core.messages import Message, parts_of, text_of, tool_calls_of
from sojourn.core.sessions import Recorded, Session

if TYPE_CHECKING:  # every listing passes through here and shows none of them
    from sojourn.core.health import Health
    from sojourn.ports.admin import StoreStats, VerifyReport
    from sojourn.ports.app import ImportReport, MoveReport
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.store import Removed, SearchHit

_SESSION = tuple(one.name for one in fields(Session) if one.name not in ("principal", "driver_fence", "details"))
_TIMES = ("started_at", "last_active", "ended_at")
_ALWAYS = ("role", "content", "structured", "tool_calls", "timestamp", "active", "compacted")
_MESSAGE = tuple(one.name for one in fields(Message) if one.name not in _ALWAYS)
_JSON_TEXT = ("reasoning_details", "codex_reasoning_items", "codex_message_items", "extra")


def encode_session(one: Session) -> dict[str, Any]:
    shape = {name: getattr(one, name) for name in _SESSION}
    shape["tags"] = list(one.tags)
    for name in _TIMES:
        shape[name] = to_iso(shape[name])
    return shape


def encode_session_with_messages(one: Session, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """A session with the rest of its row and all its messages: what an export holds."""
    return {**encode_session(one), "details": dict(one.details), "messages": messages}


def encode_message(kept: Recorded) -> dict[str, Any]:
    """A message. What it does not have is left out, but for what every message has."""
    one = kept.item
    assert isinstance(one, Message)
    shape: dict[str, Any] = {
        "id": kept.public_id,
        "session": kept.session,
        "seq": kept.seq,
        "role": one.role,
        "content": None if one.content is None else text_of(one),
        "timestamp": to_iso(one.timestamp or kept.at),
        "active": one.active,
        "compacted": one.compacted,
    }
    if one.structured:
        shape["parts"] = parts_of(one)
    if one.tool_calls:
        asked = tool_calls_of(one)
        shape["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _decode_json(call.arguments)} for call in asked
        ]
    for name in _MESSAGE:
        value = getattr(one, name)
        if value is not None and value is not False:
            shape[name] = _decode_json(value) if name in _JSON_TEXT else value
    return shape


def _decode_json(text: str) -> Any:
    """What a JSON text says; the text itself where it says nothing JSON can carry."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def encode_hit(one: SearchHit) -> dict[str, Any]:
    return {
        "session": one.session,
        "message": f"{one.session}:{one.seq}" if one.seq else None,
        "seq": one.seq,
        "role": one.role,
        "timestamp": to_iso(one.timestamp),
        "title": one.title,
        "source": one.source,
        "tool_name": one.tool_name,
        "snippet": {"text": one.snippet.text, "marks": [list(mark) for mark in one.snippet.marks]},
    }


def encode_history(one: FoundHistory) -> dict[str, Any]:
    return {
        "source": one.source,
        "home": str(one.home),
        "sessions": one.sessions,
        "bytes": one.bytes,
        "version": one.version,
        "problem": one.problem,
    }


def encode_import_report(one: ImportReport) -> dict[str, Any]:
    shape = {field.name: getattr(one, field.name) for field in fields(one)}
    shape["skipped"] = [{"id": name, "because": why} for name, why in one.skipped]
    return {**shape, "notes": list(one.notes), "seconds": round(one.seconds, 3)}


def encode_move_report(one: MoveReport) -> dict[str, Any]:
    rows = [{"table": table, "rows": number, "hash": proof} for table, number, proof in one.rows]
    return {"tables": rows, "seconds": round(one.seconds, 3)}


def encode_removal(one: Removed) -> dict[str, Any]:
    return {
        "session": one.session,
        "rows": dict(one.rows),
        "files": list(one.files),
        "backups": list(one.backups),
        "left": list(one.left),
    }


def encode_stats(one: StoreStats) -> dict[str, Any]:
    shape = {field.name: getattr(one, field.name) for field in fields(one)}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in shape.items()}


def encode_verdict(one: VerifyReport) -> dict[str, Any]:
    return {"clean": one.clean, "checked": dict(one.checked), "problems": list(one.problems)}


def encode_health(one: Health) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}
