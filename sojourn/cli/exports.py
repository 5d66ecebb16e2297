"""A session as a document: Markdown for people, JSON lines for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from sojourn.cli import json_output
from sojourn.cli.context import dump
from sojourn.cli.formatting import format_time, one_line, pluralize
from sojourn.cli.transcript_model import CallPiece, MessagePiece, Piece, fold_messages, is_undone
from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session

ENDINGS = {"jsonl": ".jsonl", "markdown": ".md"}
_SPEAKERS = {"user": "You", "assistant": "Agent", "system": "System"}


def to_jsonl(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """One line: the session with all its messages, undone ones too (they say so)."""
    yield (
        dump(json_output.encode_session_with_messages(session, [json_output.encode_message(row) for row in rows]))
        + "\n"
    )


def to_markdown(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """A document to read; what the person took back is left out."""
    yield f"# {one_line(session.title or session.preview or session.id)}\n\n"
    for name, value in _list_facts(session):
        yield f"- **{name}:** {value}\n"
    shown = (row for row in rows if isinstance(row.item, Message) and not is_undone(row.item))
    speaker = ""
    for piece in fold_messages(shown):
        who = _name_speaker(piece)
        if isinstance(piece, MessagePiece) or who != speaker:
            yield f"\n## {who} · {format_time(piece.at)}\n"
        speaker = who
        yield from _render_message(piece) if isinstance(piece, MessagePiece) else _render_call(piece)


def _list_facts(session: Session) -> Iterator[tuple[str, str]]:
    yield "Session", f"`{session.id}`"
    yield "Source", one_line(session.source)
    if session.model:
        yield "Model", one_line(session.model)
    yield "Started", format_time(session.started_at)
    yield "Length", pluralize(session.message_count, "message")
    if session.tags:
        yield "Tags", ", ".join(session.tags)


def _name_speaker(piece: Piece) -> str:
    role = "assistant" if isinstance(piece, CallPiece) else piece.message.role
    return _SPEAKERS.get(role, role.capitalize())


def _render_message(piece: MessagePiece) -> Iterator[str]:
    yield f"\n{piece.text.strip()}\n"


def _render_call(piece: CallPiece) -> Iterator[str]:
    name, arguments = _escape(piece.call.name), _escape(one_line(piece.call.arguments, 60))
    yield f"\n<details>\n<summary><code>{name}</code> {arguments}</summary>\n"
    if piece.call.arguments:
        yield "\n" + fence(_indent_json(piece.call.arguments), "json")
    yield "\n" + (fence(piece.answer, "text") if piece.answer is not None else "*It did not answer.*\n")
    yield "\n</details>\n"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _indent_json(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def fence(text: str, language: str) -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def make_file_name(session: Session, kind: str) -> str:
    """A name no file system stumbles over; ids are safe but for the colon."""
    return session.id.replace(":", "_") + ENDINGS[kind]
