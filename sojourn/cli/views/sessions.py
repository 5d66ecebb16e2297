"""A list of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sojourn.cli.formatting import format_age
from sojourn.cli.views.console import print_paged
from sojourn.cli.views.style import format_source, format_title
from sojourn.core.sessions import Session

_ID_COLUMNS = 24  # of a long id the beginning is enough to name it
_NARROW_COLUMNS = 76
_HEAD = ("SESSION", "FROM", "MSGS", "ACTIVE", "ID")


def print_sessions(screen: Console, sessions: Sequence[Session], *, now: float, more: str = "") -> None:
    if not sessions:
        screen.print("No sessions here.", style="bold")
        screen.print("  `sojourn import` brings in the history of other agents; `sojourn welcome` helps to start.")
        return
    rows = [_make_row(one, now, short=screen.width < _NARROW_COLUMNS) for one in sessions]
    print_paged(screen, _lay_out(rows, screen.width))
    if more:
        screen.print(Text(f"… these are the newest {len(sessions)}; {more}", style="dim"))


Row = tuple[Text, Text, str, str, str]


def _make_row(session: Session, now: float, *, short: bool) -> Row:
    made = format_source(session.source)
    count, active = f"{session.message_count:,}", format_age(session.last_active, now)
    return _format_name(session), made[:1] if short else made, count, active, session.id[:_ID_COLUMNS]


def _lay_out(rows: Sequence[Row], width: int) -> Iterator[Text]:
    """Laid out by hand: a table of rich measures every cell several times over."""
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
