"""What the doctor found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn.cli.doctor_checks import DoctorCheck
from sojourn.cli.formatting import pluralize

SIGNS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "problem": ("✗", "bold red")}


def print_checks(screen: Console, found: Sequence[DoctorCheck]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(ratio=1)
    for one in found:
        table.add_row(format_state(one), one.what, _format_detail(one))
    screen.print(table)
    wrong = sum(one.state == "problem" for one in found)
    if wrong:
        screen.print(Text(f"\n{pluralize(wrong, 'problem')} found.", style="bold red"))
    else:
        screen.print(Text("\nEverything needed is in order.", style="green"))


def format_state(check: DoctorCheck) -> Text:
    mark, style = SIGNS[check.state]
    return Text(mark, style=style)


def _format_detail(check: DoctorCheck) -> Text:
    text = Text(check.detail)
    if check.hint:
        text.append(f"\n{check.hint}", style="dim")
    return text
