"""A bar for whoever waits until a history is mined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from sojourn.templates.miner import Progress


@contextmanager
def bar(*, quiet: bool) -> Iterator[Progress | None]:
    """Gives a function `tell(done, of)`; None when nobody watches."""
    if quiet:
        yield None
        return
    columns = (TextColumn("Mining"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
