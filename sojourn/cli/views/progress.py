"""Bars with rate and time left, on standard error, so that they never mix with what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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

from sojourn.cli.views.console import make
from sojourn.ports.admin import Progress as Tell


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


class Counted(ProgressColumn):
    """How many, of how many."""

    def render(self, task: Task) -> Text:
        of = f" of {task.total:,.0f}" if task.total else ""
        return Text(f"{task.completed:,.0f}{of}")


@contextmanager
def bars(*, no_color: bool) -> Iterator[Tell]:
    """Gives a function `tell(what, done, of)`; each thing it names gets its own bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        Counted(),
        Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make(no_color=no_color, err=True), transient=True) as shown:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=of or None)
            shown.update(tasks[what], completed=done, total=of or None)

        yield tell
