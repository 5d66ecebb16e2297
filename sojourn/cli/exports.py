"""A session as a document: Markdown for people, JSON lines for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from sojourn.cli import shapes
from sojourn.cli.folding import Called, Piece, Said, fold, is_undone
from sojourn.cli.given import dump
from sojourn.cli.words import clock, many, one_line
from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session

ENDINGS = {"jsonl": ".jsonl", "markdown": ".md"}
_SPEAKERS = {"user": "You", "assistant": "Agent", "system": "System"}


def jsonl(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """One line: the session with all its messages, undone ones too (they say so)."""
    yield dump(shapes.whole(session, [shapes.message(row) for row in rows])) + "\n"


def markdown(session: Session, rows: Sequence[Recorded]) -> Iterator[str]:
    """A document to read; what the person took back is left out."""
    yield f"# {one_line(session.title or session.preview or session.id)}\n\n"
    for name, value in _facts(session):
        yield f"- **{name}:** {value}\n"
    shown = (row for row in rows if isinstance(row.item, Message) and not is_undone(row.item))
    speaker = ""
    for piece in fold(shown):
        who = _speaker(piece)
        if isinstance(piece, Said) or who != speaker:
            yield f"\n## {who} · {clock(piece.at)}\n"
        speaker = who
        yield from _said(piece) if isinstance(piece, Said) else _called(piece)


def _facts(session: Session) -> Iterator[tuple[str, str]]:
    yield "Session", f"`{session.id}`"
    yield "Source", one_line(session.source)
    if session.model:
        yield "Model", one_line(session.model)
    yield "Started", clock(session.started_at)
    yield "Length", many(session.message_count, "message")
    if session.tags:
        yield "Tags", ", ".join(session.tags)


def _speaker(piece: Piece) -> str:
    role = "assistant" if isinstance(piece, Called) else piece.message.role
    return _SPEAKERS.get(role, role.capitalize())


def _said(piece: Said) -> Iterator[str]:
    yield f"\n{piece.text.strip()}\n"


def _called(piece: Called) -> Iterator[str]:
    yield f"\n<details>\n<summary><code>{_escaped(piece.call.name)}</code> {_escaped(_short(piece))}</summary>\n"
    if piece.call.arguments:
        yield "\n" + fenced(_pretty(piece.call.arguments), "json")
    yield "\n" + (fenced(piece.answer, "text") if piece.answer is not None else "*It did not answer.*\n")
    yield "\n</details>\n"


def _short(piece: Called) -> str:
    return one_line(piece.call.arguments, 60)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _pretty(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def fenced(text: str, language: str) -> str:
    """A code block that its content cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def file_name(session: Session, kind: str) -> str:
    """A name no file system stumbles over; ids are safe but for the colon."""
    return session.id.replace(":", "_") + ENDINGS[kind]
