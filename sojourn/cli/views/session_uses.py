"""View of session uses: the sessions that touched a file, used a tool, or met an error."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sojourn.cli.session_uses import SessionUse
from sojourn.cli.views.sessions import format_source
from sojourn.text.formatting import format_age, one_line, pluralize

_ENDS = {None: "", True: "  ✓ it did not come back", False: "  ✗ nothing went on after it"}


def print_uses(screen: Console, found: Sequence[SessionUse], *, now: float) -> None:
    if not found:
        screen.print("No session had to do with it.", style="bold")
        return
    for one in found:
        name = Text(one_line(one.title or one.session), style="bold")
        screen.print(Text.assemble(name, "  ", format_source(one.source), (f"  {one.session}", "dim")))
        places = f"#{one.seq}" if one.seq == one.last_seq else f"#{one.seq} to #{one.last_seq}"
        tools = Text(", ".join(map(one_line, one.tools)), style="magenta")
        line = f"{pluralize(one.times, 'message')}, {places}, {format_age(one.last_at, now)}"
        screen.print(Text.assemble("  ", (line, "dim"), "  ", tools, (_ENDS[one.solved], "green")))
        if one.answer:
            screen.print(Padding(Text(one_line(one.answer)), (0, 0, 0, 4), expand=False))
