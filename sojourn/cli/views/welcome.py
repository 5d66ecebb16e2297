"""The first screen, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn import __version__
from sojourn.cli.doctor_checks import DoctorCheck
from sojourn.cli.formatting import pluralize
from sojourn.cli.views.checks import format_state
from sojourn.ports.importer import FoundHistory

_STEPS = (
    ("sojourn sessions show ID", "read one"),
    ("sojourn sessions search WORDS", "find anything that was ever said"),
    ("sojourn import", "bring in the history of other agents"),
    ("sojourn serve", "the same over HTTP"),
    ("sojourn --help", "everything else"),
)


def print_greeting(screen: Console, health: DoctorCheck) -> None:
    screen.print(Text.assemble(("Sojourn", "bold cyan"), (f" {__version__}", "dim")))
    screen.print(Text.assemble(format_state(health), f" The store is {health.detail}"))
    if health.hint:
        screen.print(Text(f"  {health.hint}", style="dim"))
    screen.print()


def print_next_steps(screen: Console, new: Sequence[FoundHistory]) -> None:
    screen.print()
    for one in new:
        told = f"{pluralize(one.sessions, 'session')} of {one.source} at {one.home} can be imported"
        screen.print(Text.assemble(("! ", "yellow"), f"{told}: sojourn import {one.source}"))
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    for command, about in _STEPS:
        table.add_row(Text(f"  {command}", style="cyan"), Text(about, style="dim"))
    screen.print(table)
