"""The rich console, and long output through a pager."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click
from rich.console import Console, RenderableType
from rich.text import Text

from sojourn.ports.cli import CliContext

WIDTH_COLUMNS = 160  # where there is no terminal to fit


def make_console(*, no_color: bool, err: bool = False) -> Console:
    """The console of this run. Without colours it prints plain text."""
    file = sys.stderr if err else sys.stdout
    options = {"color_system": None} if no_color else {}
    screen = Console(file=file, highlight=False, markup=False, emoji=False, **options)  # type: ignore[arg-type]
    if not screen.is_terminal:
        screen.width = shutil.get_terminal_size((WIDTH_COLUMNS, 50)).columns
    return screen


def render(context: CliContext, view: Callable[..., None], *values: Any, **options: Any) -> None:
    """Calls `view(console, *values)` with the console of this run."""
    view(make_console(no_color=context.no_color), *values, **options)


def print_paged(screen: Console, pieces: Iterable[RenderableType]) -> None:
    """Prints; what does not fit on a terminal goes through a pager."""
    if not screen.is_terminal:
        for piece in pieces:
            if isinstance(piece, Text) and screen.color_system is None and piece.cell_len <= screen.width:
                screen.file.write(f"{piece.plain}\n")  # as it would be printed, without a look at every word
            else:
                screen.print(piece)
        return
    printed = _render_pieces(screen, pieces)
    begun: list[str] = []
    lines = 0
    for text in printed:
        begun.append(text)
        lines += text.count("\n")
        if lines >= screen.height:
            click.echo_via_pager(itertools.chain(begun, printed))
            return
    for text in begun:
        click.echo(text, nl=False)


def _render_pieces(screen: Console, pieces: Iterable[RenderableType]) -> Iterator[str]:
    for piece in pieces:
        with screen.capture() as taken:
            screen.print(piece)
        yield taken.get()
