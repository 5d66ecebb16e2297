"""The rich console of a run, and long output through a pager."""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Iterable, Iterator

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from sojourn.text.trimmed_file import trim_unless_terminal

WIDTH_COLUMNS = 160  # where there is no terminal to fit


def make_console(*, no_color: bool, err: bool = False) -> Console:
    """Returns a console on standard output, or on standard error with `err`."""
    file = trim_unless_terminal(sys.stderr if err else sys.stdout)
    options = {"color_system": None} if no_color else {}
    screen = Console(file=file, highlight=False, markup=False, emoji=False, **options)  # type: ignore[arg-type]
    if not screen.is_terminal:
        screen.width = shutil.get_terminal_size((WIDTH_COLUMNS, 50)).columns
    return screen


def make_table(*columns: Column | str, header: bool = True) -> Table:
    """A table without lines; its columns are named in `columns` unless `header` is off."""
    return _TrimmedTable(
        *columns, box=None, padding=(0, 2, 0, 0), show_header=header, header_style="dim", show_edge=False
    )


class _TrimmedTable(Table):
    """A table whose lines end where their text does."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in Segment.split_lines(super().__rich_console__(console, options)):  # type: ignore[arg-type]
            while line and not line[-1].text.strip(" "):
                line.pop()
            if line:
                text, style, control = line[-1]
                line[-1] = Segment(text.rstrip(" "), style, control)
            yield from line
            yield Segment.line()


def print_paged(screen: Console, pieces: Iterable[RenderableType]) -> None:
    """Prints the pieces, through a pager when they do not fit on the terminal."""
    if not screen.is_terminal:
        for piece in pieces:
            if isinstance(piece, Text) and screen.color_system is None and piece.cell_len <= screen.width:
                screen.file.write(f"{piece.plain}\n")  # rich would print the same after measuring every word
            else:
                screen.print(piece)
        return
    rendered = _render_pieces(screen, pieces)
    first_page: list[str] = []
    lines = 0
    for text in rendered:
        first_page.append(text)
        lines += text.count("\n")
        if lines >= screen.height:
            click.echo_via_pager(itertools.chain(first_page, rendered))
            return
    for text in first_page:
        click.echo(text, nl=False)


def _render_pieces(screen: Console, pieces: Iterable[RenderableType]) -> Iterator[str]:
    for piece in pieces:
        with screen.capture() as taken:
            screen.print(piece)
        yield taken.get()
