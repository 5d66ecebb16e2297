"""What a search found, session by session."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sojourn.cli.formatting import format_age, one_line, pluralize, printable
from sojourn.cli.views.style import HIT_STYLE, format_role, format_source
from sojourn.ports.store import SearchHit
from sojourn.text.query import Snippet


def print_hits(screen: Console, found: Sequence[SearchHit], *, now: float, more: bool = False) -> None:
    if not found:
        screen.print("Nothing found.", style="bold")
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
    told = f"\n{pluralize(len(found), 'hit')} in {pluralize(len(sessions), 'session')}"
    screen.print(Text(told + ("; there are more: --limit" if more else ""), style="dim"))


def _format_hit(hit: SearchHit, now: float) -> Text:
    told = Text.assemble("  ", format_role(hit.role))
    if hit.tool_name:
        told.append(f" {one_line(hit.tool_name)}", style="magenta")
    number = f"  #{hit.seq}" if hit.seq else ""
    return told.append(f"  {format_age(hit.timestamp, now)}{number}", style="dim")


def highlight(snippet: Snippet) -> Text:
    """The snippet with what answers marked. It is one line already, so no character moves."""
    text = Text(printable(snippet.text))
    for start, end in snippet.marks:
        text.stylize(HIT_STYLE, start, end)
    return text
