"""A list of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from sojourn.cli.views.console import page
from sojourn.cli.views.style import name_of, source
from sojourn.cli.words import ago
from sojourn.core.sessions import Session

_ID = 24  # of a long id the beginning is enough to name it
_NARROW = 76
_HEAD = ("SESSION", "FROM", "MSGS", "ACTIVE", "ID")


def listing(screen: Console, sessions: Sequence[Session], *, now: float, more: str = "") -> None:
    if not sessions:
        screen.print("No sessions here.", style="bold")
        screen.print("  `sojourn import` brings in the history of other agents; `sojourn welcome` helps to start.")
        return
    rows = [_row(one, now, short=screen.width < _NARROW) for one in sessions]
    page(screen, _lines(rows, screen.width))
    if more:
        screen.print(Text(f"… these are the newest {len(sessions)}; {more}", style="dim"))


Row = tuple[Text, Text, str, str, str]


def _row(session: Session, now: float, *, short: bool) -> Row:
    made = source(session.source)
    count, active = f"{session.message_count:,}", ago(session.last_active, now)
    return _name(session), made[:1] if short else made, count, active, session.id[:_ID]


def _lines(rows: Sequence[Row], width: int) -> Iterator[Text]:
    """Laid out by hand: a table of rich measures every cell several times over."""
    widths = [max(cell_len(str(cell)) for cell in column) for column in zip(_HEAD, *rows, strict=True)]
    room = max(10, min(widths[0], width - sum(wide + 2 for wide in widths[1:])))
    head = [name.rjust(wide) if name == "MSGS" else name.ljust(wide) for name, wide in zip(_HEAD, widths, strict=True)]
    yield Text("  ".join([_HEAD[0].ljust(room), *head[1:]]).rstrip(), style="dim")
    for name, made, count, active, id in rows:
        name.truncate(room, overflow="ellipsis", pad=True)
        made.truncate(widths[1], pad=True)
        yield Text.assemble(name, "  ", made, "  ", f"{count:>{widths[2]}}  {active:<{widths[3]}}  ", (id, "dim"))


def _name(session: Session) -> Text:
    signs = ("★ " if session.pinned else "") + ("▪ " if session.archived else "")
    signs += "↳ " if session.parent_session_id else ""
    name = Text.assemble((signs, "yellow"), name_of(session))
    for tag in session.tags:
        name.append(f" #{tag}", style="magenta")
    return name
