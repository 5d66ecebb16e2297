"""What a search found, session by session."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sojourn.cli.views.style import MARKED, role, source
from sojourn.cli.words import ago, many, one_line, printable
from sojourn.ports.store import SearchHit
from sojourn.text.query import Snippet


def hits(screen: Console, found: Sequence[SearchHit], *, now: float, more: bool = False) -> None:
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
        screen.print(Text.assemble(name, "  ", source(own[0].source), (f"  {session}", "dim")))
        for hit in own:
            screen.print(_line(hit, now))
            screen.print(Padding(highlighted(hit.snippet), (0, 0, 0, 4), expand=False))
    told = f"\n{many(len(found), 'hit')} in {many(len(sessions), 'session')}"
    screen.print(Text(told + ("; there are more: --limit" if more else ""), style="dim"))


def _line(hit: SearchHit, now: float) -> Text:
    told = Text.assemble("  ", role(hit.role))
    if hit.tool_name:
        told.append(f" {one_line(hit.tool_name)}", style="magenta")
    number = f"  #{hit.seq}" if hit.seq else ""
    return told.append(f"  {ago(hit.timestamp, now)}{number}", style="dim")


def highlighted(snippet: Snippet) -> Text:
    """The snippet with what answers marked. It is one line already, so no character moves."""
    text = Text(printable(snippet.text))
    for start, end in snippet.marks:
        text.stylize(MARKED, start, end)
    return text
