"""The store in figures, and what was found when it was checked or moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn.cli.formatting import format_bytes, format_duration, pluralize
from sojourn.cli.views.style import format_source
from sojourn.ports.app import MoveReport
from sojourn.ports.store_admin import StoreStats, VerifyReport


def _make_grid() -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    return table


def _make_bars(rows: Iterable[tuple[Text, int]], shown: Mapping[int, str] | None = None) -> Table:
    """Numbers with a bar each, largest first."""
    table, rows = _make_grid(), sorted(rows, key=lambda row: -row[1])
    most = max((number for _, number in rows), default=0) or 1
    for label, number in rows:
        table.add_row(Text.assemble("  ", label), (shown or {}).get(number, f"{number:,}"), _draw_bar(number / most))
    return table


def _draw_bar(share: float) -> Text:
    return Text("█" * round(share * 24) or "▏", style="blue")


def print_stats(screen: Console, found: StoreStats) -> None:
    screen.print(Text.assemble((found.place, "bold"), (f"  {found.kind}, schema {found.schema}", "dim")))
    held = [
        pluralize(found.sessions, "session"),
        pluralize(found.messages, "message"),
        pluralize(found.events, "event"),
    ]
    screen.print(f"{', '.join(held)} in {format_bytes(found.bytes)}")
    if found.not_indexed:
        screen.print(Text(f"{pluralize(found.not_indexed, 'message')} not yet in the search index", style="yellow"))
    for head, values in (
        ("sessions by source", found.sessions_by_source),
        ("messages by role", found.messages_by_role),
    ):
        if values:
            screen.print(Text(f"\n{head}", style="dim"))
            label = format_source if head.endswith("source") else Text
            screen.print(_make_bars((label(name), number) for name, number in values.items()))
    screen.print(Text("\nwhat takes the room", style="dim"))
    sizes = {number: format_bytes(number) for number in found.bytes_by.values()}
    screen.print(_make_bars(((Text(name), number) for name, number in found.bytes_by.items()), sizes))


def print_verdict(screen: Console, found: VerifyReport) -> None:
    checked = ", ".join(f"{number:,} {table}" for table, number in found.checked.items())
    if found.clean:
        screen.print(Text.assemble(("✓ ", "green"), f"The store is whole: {checked} checked."))
        return
    screen.print(Text(f"✗ The store has {pluralize(len(found.problems), 'problem')} ({checked} checked):", style="red"))
    for problem in found.problems:
        screen.print(Text(f"  {problem}"))
    screen.print("  `sojourn store restore` puts a copy in its place; what is there now is kept.")


def print_move_report(screen: Console, report: MoveReport) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    table.add_column("TABLE")
    table.add_column("ROWS", justify="right")
    table.add_column("HASH OF BOTH SIDES", style="dim")
    for name, rows, proof in report.rows:
        table.add_row(name, f"{rows:,}", proof)
    screen.print(table)
    screen.print(
        Text.assemble(("✓ ", "green"), f"Both stores hold the same. It took {format_duration(report.seconds)}.")
    )
    screen.print("  To use the new one, set database_url (or SOJOURN_DATABASE_URL), or SOJOURN_HOME.")
