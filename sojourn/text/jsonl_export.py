"""JSON lines export: a session with all that is needed to store it again elsewhere, and back.

A line is made to be read: times are dates, JSON texts are values. Where that loses something (microseconds, the spaces
of a JSON text), `exact` has the stored values too, by field. A message without `native_id` is known by its `id`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.messages import Message, ToolCall, dump_calls
from sojourn.core.sessions import Recorded, Session
from sojourn.text.export import JSON_TEXTS, TIMES, export_to_json, message_to_json
from sojourn.text.formatting import dump_json

FILE = "file"  # the `type` of a line with a file; a line with a session has none
_FIELDS = tuple(one.name for one in fields(Message))
_FLAGS = ("structured", "observed", "active", "compacted")
_NUMBERS = ("timestamp", "token_count")
_COMPUTED = ("content", "structured", "tool_calls", "timestamp", "native_id", *JSON_TEXTS)


def to_jsonl(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """Renders one JSON line: the session with all its messages, undone ones included."""
    yield dump_json(encode_session(session, rows)) + "\n"


def encode_session(session: Session, rows: Sequence[Recorded]) -> dict[str, Any]:
    """The JSON object of a session."""
    shape = export_to_json(session, [_encode_message(row) for row in rows])
    exact = {name: getattr(session, name) for name in TIMES if getattr(session, name) != to_seconds(shape[name])}
    return {**shape, "exact": exact} if exact else shape


def list_files(rows: Sequence[Recorded]) -> list[Attachment]:
    """The files of a session's messages, each once."""
    found = (one for row in rows if isinstance(row.item, Message) for one in attachments_of(row.item))
    return list({(one.hash, one.name): one for one in found}.values())


def render_file(session: Session, one: Attachment, data: bytes, media_type: str) -> str:
    """Renders the line of a file, which follows the line of its session."""
    shape = {"type": FILE, "session": session.id, "hash": one.hash, "name": one.name, "media_type": media_type}
    return dump_json({**shape, "data": base64.b64encode(data).decode("ascii")}) + "\n"


def _encode_message(row: Recorded) -> dict[str, Any]:
    shape = message_to_json(row)
    if shape.get("native_id") == row.public_id:
        del shape["native_id"]
    stored = row.item
    assert isinstance(stored, Message)
    stored = replace(stored, timestamp=stored.timestamp or row.at, native_id=stored.native_id or row.public_id)
    read = parse_message(shape)
    exact = {name: getattr(stored, name) for name in _FIELDS if getattr(stored, name) != getattr(read, name)}
    return {**shape, "exact": exact} if exact else shape


def parse_message(shape: Mapping[str, Any]) -> Message:
    """The message of a line as it was stored; what has the wrong type is left out."""
    given = {name: shape[name] for name in _FIELDS if name in shape and name not in _COMPUTED}
    parts, calls = shape.get("parts"), shape.get("tool_calls")
    given["content"] = json.dumps(parts, ensure_ascii=False) if isinstance(parts, list) else shape.get("content")
    given["structured"] = isinstance(parts, list)
    if isinstance(calls, list):
        given["tool_calls"] = dump_calls([_parse_call(one) for one in calls if isinstance(one, dict)])
    given |= {name: _to_json_text(shape[name]) for name in JSON_TEXTS if shape.get(name) is not None}
    given["timestamp"] = to_seconds(shape.get("timestamp"))
    given["native_id"] = shape.get("native_id") or shape.get("id")
    exact = shape.get("exact")
    given |= exact if isinstance(exact, dict) else {}
    role = given.pop("role", None)
    fitting = {name: value for name, value in given.items() if name in _FIELDS and _fits(name, value)}
    return Message(role=role if isinstance(role, str) and role else "system", **fitting)


def parse_session(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the session of a line, by name."""
    details, exact = shape.get("details"), shape.get("exact")
    columns = {**(details if isinstance(details, dict) else {}), **shape}
    columns |= {name: to_seconds(shape[name]) for name in TIMES if shape.get(name) is not None}
    columns |= {name: exact[name] for name in TIMES if name in exact} if isinstance(exact, dict) else {}
    tags = shape.get("tags")
    columns["tags"] = ",".join(str(tag) for tag in tags) if isinstance(tags, list) else ""
    return columns


def to_seconds(date: Any) -> float:
    """The time of an ISO date; 0 if it is none."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _parse_call(raw: dict[str, Any]) -> ToolCall:
    arguments = raw.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or ""), name=str(raw.get("name") or ""), arguments=text)


def _to_json_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fits(name: str, value: Any) -> bool:
    if name in _FLAGS:
        return isinstance(value, bool)
    if name in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or isinstance(value, str)
