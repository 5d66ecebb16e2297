"""Views of sessions: the list, search hits and the transcript. Every sign is one column wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from sojourn.cli.views.console import print_paged
from sojourn.core.messages import Message
from sojourn.core.sessions import Session
from sojourn.ports.store import SearchHit
from sojourn.text.formatting import format_age, format_time, one_line, pluralize, printable
from sojourn.text.query import Snippet
from sojourn.text.transcript import (
    SpokenText,
    ToolExchange,
    TranscriptPiece,
    is_undone,
    summarize_answer,
    summarize_call,
)

_NONE: Mapping[str, str] = {}
_SOURCES = {
    "hermes": ("☤", "yellow"),
    "claude-code": ("✻", "bright_red"),
    "codex": ("◆", "bright_green"),
    "opencode": ("▣", "bright_blue"),
    "cli": ("❯", "cyan"),
    "telegram": ("➤", "bright_blue"),
    "discord": ("◉", "magenta"),
    "slack": ("#", "magenta"),
    "web": ("◍", "cyan"),
    "api": ("◍", "cyan"),
    "sample": ("✿", "green"),
}
_ROLES = {
    "user": ("❯ you", "bold cyan"),
    "assistant": ("● agent", "bold green"),
    "system": ("§ system", "yellow"),
    "tool": ("▸ tool", "magenta"),
    "title": ("◈ title", "bold yellow"),
}
HIT_STYLE = "bold black on yellow"


def format_source(name: str) -> Text:
    icon, color = _SOURCES.get(name, ("•", "white"))
    return Text(f"{icon} {one_line(name)}", style=color)


def format_role(name: str) -> Text:
    label, style = _ROLES.get(name, (f"· {one_line(name)}", "dim"))
    return Text(label, style=style)


def format_title(session: Session) -> Text:
    """The title, or the first words of an untitled session."""
    if session.title:
        return Text(one_line(session.title), style="bold")
    return Text(one_line(session.preview, 80) or "(empty)", style="italic")


_ID_COLUMNS = 24  # the first characters of a long id are enough to name a session
_NARROW_COLUMNS = 76
_HEAD = ("SESSION", "FROM", "MSGS", "ACTIVE", "ID")


def print_sessions(
    screen: Console, sessions: Sequence[Session], *, now: float, more: str = "", problem: str = ""
) -> None:
    if problem:
        screen.print(Text(problem, style="bold"))
        return
    if not sessions:
        screen.print("No sessions here.", style="bold")
        screen.print("  `sojourn import` brings in the history of other agents; `sojourn welcome` helps to start.")
        return
    rows = [_make_row(one, now, short=screen.width < _NARROW_COLUMNS) for one in sessions]
    print_paged(screen, _lay_out(rows, screen.width))
    if more:
        screen.print(Text(f"… these are the newest {len(sessions)}; {more}", style="dim"))


_Row = tuple[Text, Text, str, str, str]


def _make_row(session: Session, now: float, *, short: bool) -> _Row:
    made = format_source(session.source)
    count, active = f"{session.message_count:,}", format_age(session.last_active, now)
    return _format_name(session), made[:1] if short else made, count, active, session.id[:_ID_COLUMNS]


def _lay_out(rows: Sequence[_Row], width: int) -> Iterator[Text]:
    """Pads the columns without a rich Table, which measures every cell several times."""
    widths = [max(cell_len(str(cell)) for cell in column) for column in zip(_HEAD, *rows, strict=True)]
    room = max(10, min(widths[0], width - sum(wide + 2 for wide in widths[1:])))
    head = [name.rjust(wide) if name == "MSGS" else name.ljust(wide) for name, wide in zip(_HEAD, widths, strict=True)]
    yield Text("  ".join([_HEAD[0].ljust(room), *head[1:]]).rstrip(), style="dim")
    for name, made, count, active, id in rows:
        name.truncate(room, overflow="ellipsis", pad=True)
        made.truncate(widths[1], pad=True)
        yield Text.assemble(name, "  ", made, "  ", f"{count:>{widths[2]}}  {active:<{widths[3]}}  ", (id, "dim"))


def _format_name(session: Session) -> Text:
    signs = ("★ " if session.pinned else "") + ("▪ " if session.archived else "")
    signs += "↳ " if session.parent_session_id else ""
    name = Text.assemble((signs, "yellow"), format_title(session))
    for tag in session.tags:
        name.append(f" #{tag}", style="magenta")
    return name


def print_hits(
    screen: Console, found: Sequence[SearchHit], *, now: float, more: bool = False, meant: Mapping[str, str] = _NONE
) -> None:
    """Prints hits by session. meant: corrections of words that are nowhere"""
    if not found:
        screen.print("Nothing found.", style="bold")
    if meant:
        asked = ", ".join(f"“{right}” for “{word}”" for word, right in meant.items())
        screen.print(Text(f"Did you mean {asked}?"))
    if not found:
        return
    sessions: dict[str, list[SearchHit]] = {}
    for hit in found:
        sessions.setdefault(hit.session, []).append(hit)
    for number, (session, own) in enumerate(sessions.items()):
        if number:
            screen.print()
        name = Text(one_line(own[0].title or session), style="bold")
        screen.print(Text.assemble(name, "  ", format_source(own[0].source), (f"  {session}", "dim")))
        for hit in own:
            screen.print(_format_hit(hit, now))
            screen.print(Padding(highlight(hit.snippet), (0, 0, 0, 4), expand=False))
    total = f"\n{pluralize(len(found), 'hit')} in {pluralize(len(sessions), 'session')}"
    screen.print(Text(total + ("; use --limit to see more" if more else ""), style="dim"))


def _format_hit(hit: SearchHit, now: float) -> Text:
    line = Text.assemble("  ", format_role(hit.role))
    if hit.tool_name:
        line.append(f" {one_line(hit.tool_name)}", style="magenta")
    number = f"  #{hit.seq}" if hit.seq else ""
    return line.append(f"  {format_age(hit.timestamp, now)}{number}", style="dim")


def highlight(snippet: Snippet) -> Text:
    """The snippet with its matches marked. It has no line breaks, so the positions stay valid."""
    text = Text(printable(snippet.text))
    for start, end in snippet.marks:
        text.stylize(HIT_STYLE, start, end)
    return text


def print_transcript(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int = 0
) -> None:
    print_paged(screen, _render_transcript(screen, session, pieces, full=full, hidden=hidden))


def _render_transcript(
    screen: Console, session: Session, pieces: Iterable[TranscriptPiece], *, full: bool, hidden: int
) -> Iterator[RenderableType]:
    yield from _render_head(session)
    speaker = ""
    for piece in pieces:
        if not full and _has_nothing_to_show(piece):
            continue
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


def _has_nothing_to_show(piece: TranscriptPiece) -> bool:
    """Whether a message is a thought alone, which only `--full` shows."""
    return isinstance(piece, SpokenText) and piece.message.role == "assistant" and not piece.text.strip()


def _speaker_of(piece: TranscriptPiece) -> str:
    if isinstance(piece, ToolExchange):
        return "assistant"
    return "notice" if piece.is_notice else piece.message.role


def _render_head(session: Session) -> Iterator[RenderableType]:
    yield Text.assemble(format_title(session), "  ", format_source(session.source))
    facts = [session.id, one_line(session.model or ""), pluralize(session.message_count, "message")]
    facts += [f"imported on {one_line(session.machine)}"] if session.machine else []
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
    answer = f" → {one_line(summarize_answer(piece.answer), max(12, width // 3))}"
    room = max(20, width - len(piece.call.name) - len(answer) - 6)
    line = Text.assemble(("  ▸ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    line.append(f" {one_line(summarize_call(piece.call), room)}".rstrip(), style="dim")
    line.append(answer, style="yellow" if piece.answer is None else "green")
    line.stylize(_style_of(piece.message))
    line.truncate(width, overflow="ellipsis")
    return line


def _render_full_call(piece: ToolExchange) -> Iterator[RenderableType]:
    yield Text.assemble(("  ▾ ", "magenta"), (one_line(piece.call.name), "bold magenta"))
    if piece.call.arguments:
        yield _indent(printable(piece.call.arguments), "", 4)
    answer = "(no answer)" if piece.answer is None else printable(piece.answer.rstrip())
    yield _indent(answer, _style_of(piece.message) or "dim", 4)
