"""Bars with rate and time left, on standard error, so that they never mix with what is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sojourn.cli.views.console import make_console
from sojourn.ports.cli import CliContext
from sojourn.ports.store_admin import Progress as Report


class RateColumn(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


class CountColumn(ProgressColumn):
    """How many, of how many."""

    def render(self, task: Task) -> Text:
        of = f" of {task.total:,.0f}" if task.total else ""
        return Text(f"{task.completed:,.0f}{of}")


def progress_bars(context: CliContext) -> AbstractContextManager[Report | None]:
    """`with progress_bars(context) as progress`: bars on a terminal, otherwise None."""
    if context.json or not sys.stderr.isatty():
        return nullcontext(None)
    return _open_bars(no_color=context.no_color)


@contextmanager
def _open_bars(*, no_color: bool) -> Iterator[Report]:
    """Gives a function `report(what, done, of)`; each thing it names gets its own bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        CountColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make_console(no_color=no_color, err=True), transient=True) as shown:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=of or None)
            shown.update(tasks[what], completed=done, total=of or None)

        yield report
