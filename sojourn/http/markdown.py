"""A transcript to be read: Markdown, tool calls folded."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.core.sessions import Recorded, Session
from sojourn.http.json_safe import moment, readable

_SPEAKERS = {"user": "You", "assistant": "Assistant", "system": "System"}


async def lines(session: Session, rows: AsyncGenerator[tuple[Recorded, Message], None]) -> AsyncIterator[str]:
    """The whole document, piece by piece."""
    heading = " ".join((session.title or session.preview or session.id).split())
    yield readable(f"# {heading}\n\n`{session.id}` · {session.source} · {moment(session.started_at)}\n")
    async with aclosing(rows) as found:
        async for recorded, message in found:
            yield readable(_entry(recorded, message))


def _entry(recorded: Recorded, message: Message) -> str:
    if message.role == "tool":
        return "\n" + _folded(f"{message.tool_name or 'tool'} answered", text_of(message))
    speaker = _SPEAKERS.get(message.role, message.role)
    said = text_of(message)
    entry = f"\n## {speaker}\n\n{said}\n" if said else f"\n## {speaker}\n"
    for call in tool_calls_of(message):
        entry += "\n" + _folded(f"{call.name} was called", call.arguments)
    return entry


def _folded(summary: str, text: str) -> str:
    label = re.sub(r"[<>&\n]", " ", summary)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))
    return f"<details><summary>{label}</summary>\n\n{fence}\n{text}\n{fence}\n</details>\n"
