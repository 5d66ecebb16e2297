"""Export: a session as Markdown for people and as JSON, and a list of its attachments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from typing import Any

from sojourn.core.attachments import attachments_of
from sojourn.core.messages import Json, Message, parts_of, text_of, tool_calls_of
from sojourn.core.sessions import Recorded, Session
from sojourn.text.formatting import format_time, one_line, pluralize, to_iso
from sojourn.text.transcript import (
    SpokenText,
    ToolExchange,
    TranscriptPiece,
    fold_messages,
    has_words,
    is_undone,
    summarize_call,
)

ENDINGS = {"jsonl": ".jsonl", "markdown": ".md", "html": ".html"}
_TITLE_CHARS = 80  # of a file name
_SPEAKERS = {"user": "You", "assistant": "Agent", "system": "System"}
_SESSION = tuple(one.name for one in fields(Session) if one.name not in ("principal", "driver_fence", "details"))
TIMES = ("started_at", "last_active", "ended_at")
_ALWAYS = ("role", "content", "structured", "tool_calls", "timestamp", "active", "compacted")
_MESSAGE = tuple(one.name for one in fields(Message) if one.name not in _ALWAYS)
JSON_TEXTS = ("reasoning_details", "codex_reasoning_items", "codex_message_items", "extra")


def to_markdown(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """Renders a document for people; undone messages are left out."""
    yield f"# {one_line(session.title or session.preview or session.id)}\n\n"
    for name, value in _describe(session):
        yield f"- **{name}:** {value}\n"
    shown = (row for row in rows if isinstance(row.item, Message) and not is_undone(row.item))
    speaker = ""
    for piece in filter(has_words, fold_messages(shown)):
        who = _speaker_of(piece)
        if isinstance(piece, SpokenText) or who != speaker:
            yield f"\n## {who} · {format_time(piece.at)}\n"
        speaker = who
        yield f"\n{piece.text.strip()}\n" if isinstance(piece, SpokenText) else _render_exchange(piece)


def _describe(session: Session) -> Iterator[tuple[str, str]]:
    yield "Session", f"`{session.id}`"
    yield "Source", one_line(session.source)
    if session.model:
        yield "Model", one_line(session.model)
    yield "Started", format_time(session.started_at)
    yield "Length", pluralize(session.message_count, "message")
    if session.tags:
        yield "Tags", ", ".join(session.tags)


def _speaker_of(piece: TranscriptPiece) -> str:
    if isinstance(piece, SpokenText) and piece.is_notice:
        return "Notice"
    role = "assistant" if isinstance(piece, ToolExchange) else piece.message.role
    return _SPEAKERS.get(role, role.capitalize())


def _render_exchange(piece: ToolExchange) -> str:
    name, arguments = _escape(piece.call.name), _escape(one_line(summarize_call(piece.call), 60))
    call = "\n" + fence(_indent_json(piece.call.arguments), "json") if piece.call.arguments else ""
    answer = fence(piece.answer, "text") if piece.answer is not None else "*It did not answer.*\n"
    return f"\n<details>\n<summary><code>{name}</code> {arguments}</summary>\n{call}\n{answer}\n</details>\n"


def _escape(text: str) -> str:
    """Escapes HTML; the module `html` would take milliseconds to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _indent_json(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def fence(text: str, language: str) -> str:
    """Renders a code block whose fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{language}\n{text.rstrip()}\n{marks}\n"


def make_file_name(session: Session, kind: str) -> str:
    """A portable file name: an id is path-safe except for the colon."""
    return session.id.replace(":", "_") + ENDINGS[kind]


def make_title_file_name(session: Session) -> str:
    """The name of a Markdown file that a person recognises: the title, without what a file name cannot have."""
    title = re.sub(r"[^\w.-]+", "-", session.title or "").strip("-._")[:_TITLE_CHARS]
    return f"{title or session.id}.md"


def session_to_json(one: Session) -> dict[str, Any]:
    shape = {name: getattr(one, name) for name in _SESSION}
    shape["tags"] = list(one.tags)
    for name in TIMES:
        shape[name] = to_iso(shape[name])
    return shape


def export_to_json(one: Session, messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The JSON object of an export: the session, its other columns and all its messages."""
    return {**session_to_json(one), "details": dict(one.details), "messages": messages}


def message_to_json(kept: Recorded) -> dict[str, Any]:
    """A message as JSON; empty optional fields are left out."""
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
        calls = tool_calls_of(one)
        shape["tool_calls"] = [
            {"id": call.id, "name": call.name, "arguments": _parse_json(call.arguments)} for call in calls
        ]
    for name in _MESSAGE:
        value = getattr(one, name)
        if value is not None and value is not False:
            shape[name] = _parse_json(value) if name in JSON_TEXTS else value
    return shape


def _parse_json(text: str) -> Any:
    """Parses JSON text; returns the text itself if it is not valid JSON."""
    try:
        return json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text


def list_attachments(rows: Iterable[Recorded], observations: Iterable[tuple[float, Json]]) -> list[dict[str, Json]]:
    """Lists the files of messages, then the observations of runtimes: time and value of the OBSERVATION records."""
    files = [
        {"type": "file", "message_id": row.public_id, **asdict(one)}
        for row in rows
        if isinstance(row.item, Message)
        for one in attachments_of(row.item)
    ]
    ordered = sorted(observations, key=lambda one: one[0])
    return files + [{"type": "observation", **value} for _, value in ordered if isinstance(value, dict)]
