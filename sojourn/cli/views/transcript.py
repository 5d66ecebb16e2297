"""A session to read: roles in colour, tool calls folded to one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from sojourn.cli.views.console import page
from sojourn.cli.views.style import name_of, role, source
from sojourn.cli.words import clock, many, one_line, printable
from sojourn.core.messages import Message
from sojourn.core.sessions import Session
from sojourn.text.transcript import SpokenText, ToolExchange, TranscriptPiece, is_undone, summary


def transcript(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int = 0
) -> None:
    page(screen, _pieces(screen, session, pieces, full=full, hidden=hidden))


def _pieces(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int
) -> Iterator[RenderableType]:
    yield from _head(session)
    speaker = ""
    for piece in pieces:
        who = _speaker_of(piece)
        if isinstance(piece, SpokenText) or who != speaker:
            yield _speaks(who, piece)
        speaker = who
        if isinstance(piece, SpokenText):
            yield from _said(piece, full=full)
        elif full:
            yield from _unfolded(piece)
        else:
            yield _folded(piece, screen.width)
    if hidden:
        yield Text(f"\n{many(hidden, 'undone message')} not shown; --all shows them.", style="dim")


def _speaker_of(piece: TranscriptPiece) -> str:
    if isinstance(piece, ToolExchange):
        return "assistant"
    return "notice" if piece.is_notice else piece.message.role


def _head(session: Session) -> Iterator[RenderableType]:
    yield Text.assemble(name_of(session), "  ", source(session.source))
    facts = [session.id, one_line(session.model or ""), many(session.message_count, "message")]
    facts += [f"started {clock(session.started_at)}", " ".join(f"#{tag}" for tag in session.tags)]
    if session.ended_at:
        facts.append(f"ended {clock(session.ended_at)}" + (f" ({session.end_reason})" if session.end_reason else ""))
    yield Text(" · ".join(fact for fact in facts if fact), style="dim")
    yield Rule(style="dim")


def _shade(message: Message) -> str:
    """Summarised rows are dimmed, undone ones struck through."""
    return "dim strike" if is_undone(message) else "" if message.active else "dim"


def _speaks(who: str, piece: TranscriptPiece) -> RenderableType:
    return Text.assemble("\n", role(who), (f"  {clock(piece.at)}{_note(piece.message)}", "dim"))


def _said(piece: SpokenText, *, full: bool) -> Iterator[RenderableType]:
    message = piece.message
    thought = message.reasoning or message.reasoning_content
    if full and thought:
        yield _inset(printable(thought.strip()), "dim italic")
    text = printable(piece.text.strip())
    if message.role not in ("user", "assistant") and not full:
        text = one_line(text, 200)
    if text:
        yield _inset(text, _shade(message))


def _inset(text: str, style: str, by: int = 2) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, by), expand=False)


def _note(message: Message) -> str:
    return "  undone" if is_undone(message) else "" if message.active else "  summarised"


def _folded(piece: ToolExchange, width: int) -> RenderableType:
    told = f" → {one_line(summary(piece.answer), max(12, width // 3))}"
    room = max(20, width - len(piece.call.name) - len(told) - 6)
    line = Text.assemble(("  ▸ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    line.append(f" {one_line(piece.call.arguments, room)}".rstrip(), style="dim")
    line.append(told, style="yellow" if piece.answer is None else "green")
    line.stylize(_shade(piece.message))
    line.truncate(width, overflow="ellipsis")
    return line


def _unfolded(piece: ToolExchange) -> Iterator[RenderableType]:
    yield Text.assemble(("  ▾ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    if piece.call.arguments:
        yield _inset(printable(piece.call.arguments), "", 4)
    answer = "(no answer)" if piece.answer is None else printable(piece.answer.rstrip())
    yield _inset(answer, _shade(piece.message) or "dim", 4)
