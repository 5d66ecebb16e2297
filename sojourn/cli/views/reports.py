"""Views of store commands and imports: figures, verification, moves, import reports and progress bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rich.console import Console
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
from rich.table import Column, Table
from rich.text import Text

from sojourn.cli.views.console import make_console, make_table
from sojourn.cli.views.sessions import format_source
from sojourn.ports.app import ImportReport, MoveReport
from sojourn.ports.importer import FoundHistory
from sojourn.ports.store_admin import Progress as ProgressReport
from sojourn.ports.store_admin import StoreStats, VerifyReport
from sojourn.text.formatting import format_bytes, format_duration, one_line, pluralize


def _make_bars(rows: Iterable[tuple[Text, int]], shown: Mapping[int, str] | None = None) -> Table:
    """Numbers with a bar each, largest first."""
    # Only the bar gives way on a narrow screen: it alone may wrap, and is cropped instead.
    columns = (Column(no_wrap=True), Column(justify="right", no_wrap=True), Column(overflow="crop"))
    table, rows = make_table(*columns, header=False), sorted(rows, key=lambda row: -row[1])
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
    screen.print(Text("\nspace used by", style="dim"))
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
    table = make_table("TABLE", Column("ROWS", justify="right"), Column("HASH OF BOTH SIDES", style="dim"))
    for name, rows, proof in report.rows:
        table.add_row(name, f"{rows:,}", proof)
    screen.print(table)
    screen.print(
        Text.assemble(("✓ ", "green"), f"Both stores hold the same. It took {format_duration(report.seconds)}.")
    )
    screen.print("  To use the new one, set database_url (or SOJOURN_DATABASE_URL), or SOJOURN_HOME.")


_MAX_SHOWN_REASONS = 5  # lines of a report


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
    columns = [Column(no_wrap=at != 1, overflow="fold", justify="right" if at > 1 else "left") for at in range(4)]
    table = make_table(*columns, header=False)
    for one in histories:
        table.add_row(
            Text.assemble("  ", format_source(one.source)), str(one.home), f"{one.sessions:,}", format_bytes(one.bytes)
        )
    screen.print(table)
    for report in reports:
        print_import_report(screen, report)


def print_import_report(screen: Console, report: ImportReport) -> None:
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
    text = f"found {report.found:,}, {brought}, unchanged {report.unchanged:,}, skipped {len(report.skipped):,}"
    reasons = Counter(one_line(why, 80) for _, why in report.skipped)
    if len(reasons) == 1:
        text += f" because {next(iter(reasons))}"
    elif reasons:
        text += f" because of {pluralize(len(reasons), 'reason')}, below"
    more = []
    if report.updated:
        more.append(f"{report.updated:,} of them had gone on")
    if report.new_messages:
        more.append(pluralize(report.new_messages, "new message"))
    if report.removed_upstream:
        more.append(f"{report.removed_upstream:,} no longer there, kept here")
    if not report.dry_run:
        more.append(format_duration(report.seconds))
    return text + (f" ({', '.join(more)})" if more else "")


class RateColumn(ProgressColumn):
    """Items per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


class CountColumn(ProgressColumn):
    """Items done, of the total if it is known."""

    def render(self, task: Task) -> Text:
        of = f" of {task.total:,.0f}" if task.total else ""
        return Text(f"{task.completed:,.0f}{of}")


@contextmanager
def show_progress(*, no_color: bool) -> Iterator[ProgressReport]:
    """Yields `report(what, done, of)`, which draws one bar per `what` on standard error."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        CountColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make_console(no_color=no_color, err=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=of or None)
            bars.update(tasks[what], completed=done, total=of or None)

        yield report
