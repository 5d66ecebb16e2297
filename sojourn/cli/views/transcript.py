"""A session to read: roles in colour, tool calls folded to one line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from sojourn.cli.formatting import format_time, one_line, pluralize, printable
from sojourn.cli.views.console import print_paged
from sojourn.cli.views.style import format_role, format_source, format_title
from sojourn.core.messages import Message
from sojourn.core.sessions import Session
from sojourn.text.transcript import SpokenText, ToolExchange, TranscriptPiece, is_undone, summarize_answer


def print_transcript(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int = 0
) -> None:
    print_paged(screen, _render_pieces(screen, session, pieces, full=full, hidden=hidden))


def _render_pieces(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int
) -> Iterator[RenderableType]:
    yield from _render_head(session)
    speaker = ""
    for piece in pieces:
        who = _speaker_of(piece)
        if isinstance(piece, SpokenText) or who != speaker:
            yield _render_speaker(who, piece)
        speaker = who
        if isinstance(piece, SpokenText):
            yield from _render_message(piece, full=full)
        elif full:
            yield from _render_full_call(piece)
        else:
            yield _render_folded_call(piece, screen.width)
    if hidden:
        yield Text(f"\n{pluralize(hidden, 'undone message')} not shown; --all shows them.", style="dim")


def _speaker_of(piece: TranscriptPiece) -> str:
    if isinstance(piece, ToolExchange):
        return "assistant"
    return "notice" if piece.is_notice else piece.message.role


def _render_head(session: Session) -> Iterator[RenderableType]:
    yield Text.assemble(format_title(session), "  ", format_source(session.source))
    facts = [session.id, one_line(session.model or ""), pluralize(session.message_count, "message")]
    facts += [f"started {format_time(session.started_at)}", " ".join(f"#{tag}" for tag in session.tags)]
    if session.ended_at:
        facts.append(
            f"ended {format_time(session.ended_at)}" + (f" ({session.end_reason})" if session.end_reason else "")
        )
    yield Text(" · ".join(fact for fact in facts if fact), style="dim")
    yield Rule(style="dim")


def _style_of(message: Message) -> str:
    """Summarised rows are dimmed, undone ones struck through."""
    return "dim strike" if is_undone(message) else "" if message.active else "dim"


def _render_speaker(who: str, piece: TranscriptPiece) -> RenderableType:
    return Text.assemble("\n", format_role(who), (f"  {format_time(piece.at)}{_note(piece.message)}", "dim"))


def _render_message(piece: SpokenText, *, full: bool) -> Iterator[RenderableType]:
    message = piece.message
    thought = message.reasoning or message.reasoning_content
    if full and thought:
        yield _indent(printable(thought.strip()), "dim italic")
    text = printable(piece.text.strip())
    if message.role not in ("user", "assistant") and not full:
        text = one_line(text, 200)
    if text:
        yield _indent(text, _style_of(message))


def _indent(text: str, style: str, by: int = 2) -> RenderableType:
    return Padding(Text(text, style=style), (0, 0, 0, by), expand=False)


def _note(message: Message) -> str:
    return "  undone" if is_undone(message) else "" if message.active else "  summarised"


def _render_folded_call(piece: ToolExchange, width: int) -> RenderableType:
    told = f" → {one_line(summarize_answer(piece.answer), max(12, width // 3))}"
    room = max(20, width - len(piece.call.name) - len(told) - 6)
    line = Text.assemble(("  ▸ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    line.append(f" {one_line(piece.call.arguments, room)}".rstrip(), style="dim")
    line.append(told, style="yellow" if piece.answer is None else "green")
    line.stylize(_style_of(piece.message))
    line.truncate(width, overflow="ellipsis")
    return line


def _render_full_call(piece: ToolExchange) -> Iterator[RenderableType]:
    yield Text.assemble(("  ▾ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    if piece.call.arguments:
        yield _indent(printable(piece.call.arguments), "", 4)
    answer = "(no answer)" if piece.answer is None else printable(piece.answer.rstrip())
    yield _indent(answer, _style_of(piece.message) or "dim", 4)
