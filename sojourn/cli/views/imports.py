"""Histories that were found, and what importing them did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sojourn.cli.formatting import format_bytes, format_duration, one_line, pluralize
from sojourn.cli.views.style import format_source
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory

_MAX_SHOWN_REASONS = 5


def print_histories(screen: Console, histories: Sequence[FoundHistory], reports: Sequence[ImportReport]) -> None:
    """What there is, and what an import would do."""
    total, room = sum(one.sessions for one in histories), sum(one.bytes for one in histories)
    programs = len({one.source for one in histories})
    screen.print(
        Text(
            f"Found {pluralize(total, 'session')} of {pluralize(programs, 'program')} ({format_bytes(room)})",
            style="bold",
        )
    )
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False, show_edge=False)
    for column in range(4):
        table.add_column(no_wrap=column != 1, overflow="fold", justify="right" if column > 1 else "left")
    for one in histories:
        table.add_row(
            Text.assemble("  ", format_source(one.source)), str(one.home), f"{one.sessions:,}", format_bytes(one.bytes)
        )
    screen.print(table)
    for report in reports:
        _print_report(screen, report)


def print_import_reports(screen: Console, done: Sequence[ImportReport]) -> None:
    for report in done:
        _print_report(screen, report)


def _print_report(screen: Console, report: ImportReport) -> None:
    name = format_source(report.source)
    if report.problem:
        loud = Text(f"FOUND BUT NOT READABLE at {report.home}: {one_line(report.problem)}", style="bold red")
        screen.print(Text.assemble(("✗ ", "bold red"), name, " ", loud))
        screen.print("  It is not empty; it was left as it is.")
        return
    sign = Text("· dry run: ", style="cyan") if report.dry_run else Text("✓ ", style="green")
    screen.print(Text.assemble(sign, name, " ", format_report(report)))
    for reason, number in Counter(why for _, why in report.skipped).most_common(_MAX_SHOWN_REASONS):
        example = next(native for native, why in report.skipped if why == reason)
        screen.print(
            Text(f"  skipped {number:,} because {one_line(reason)} (e.g. {one_line(example, 40)})", style="yellow")
        )
    for note in report.notes[:_MAX_SHOWN_REASONS]:
        screen.print(Text(f"  {one_line(note)}", style="dim"))
    if len(report.notes) > _MAX_SHOWN_REASONS:
        screen.print(Text(f"  … and {pluralize(len(report.notes) - _MAX_SHOWN_REASONS, 'more note')}", style="dim"))


def format_report(report: ImportReport) -> str:
    """found N, imported N, unchanged N, skipped N because … The three add up to the first."""
    brought = f"{'would import' if report.dry_run else 'imported'} {report.imported + report.updated:,}"
    told = f"found {report.found:,}, {brought}, unchanged {report.unchanged:,}, skipped {len(report.skipped):,}"
    reasons = Counter(one_line(why, 80) for _, why in report.skipped)
    if len(reasons) == 1:
        told += f" because {next(iter(reasons))}"
    elif reasons:
        told += f" because of {pluralize(len(reasons), 'reason')}, below"
    more = []
    if report.updated:
        more.append(f"{report.updated:,} of them had gone on")
    if report.new_messages:
        more.append(pluralize(report.new_messages, "new message"))
    if report.removed_upstream:
        more.append(f"{report.removed_upstream:,} no longer there, kept here")
    if not report.dry_run:
        more.append(format_duration(report.seconds))
    return told + (f" ({', '.join(more)})" if more else "")
