"""Terminal output of `sojourn templates`: tables, details and the progress bar."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from sojourn.templates.effectiveness import Comparison, Group
from sojourn.templates.library import StoredTemplate, Unreadable
from sojourn.templates.miner import MiningResult, Progress
from sojourn.templates.model import ToolCallExample
from sojourn.templates.parameters import parameters_of
from sojourn.templates.suggestions import Suggestion

_SHOWN = 600  # characters of a result


def show_list(console: Console, stored: Sequence[StoredTemplate], kind: str | None) -> None:
    if not stored:
        hint = " yet. `sojourn templates create SESSION_ID` makes one of what worked there."
        console.print("No templates" + (f" of type {kind}." if kind else hint))
        return
    table = _table("name", "type", "examples", "uses", "made")
    for one in stored:
        template = one.template
        made = time.strftime("%Y-%m-%d", time.localtime(template.created_at))
        row = (template.task_type.value, str(len(template.examples)), str(template.usage_count), made)
        table.add_row(escape(template.name), *row)
    console.print(table)


def show_template(console: Console, stored: StoredTemplate) -> None:
    template, about = stored.template, stored.about
    console.print(f"[bold]{escape(template.name)}[/] · {template.task_type.value} · used {template.usage_count} times")
    console.print(escape(template.description))
    if template.source_session_id:
        console.print(f"from session {escape(template.source_session_id)}", style="dim")
    if about.proven > 1:
        console.print(f"proven in {about.proven} sessions", style="dim")
    for request in about.requests[:3]:
        console.print(f"request: {escape(' '.join(request.split())[:200])}", style="dim")
    show_examples(console, template.examples)


def show_examples(console: Console, examples: Sequence[ToolCallExample]) -> None:
    names = parameters_of(examples)
    if names:
        console.print(f"parameters: {', '.join(names)}", style="cyan")
    for number, one in enumerate(examples, 1):
        given = json.dumps(dict(one.arguments), ensure_ascii=False)
        console.print(f"\n[bold]{number}. {escape(one.tool_name)}[/] {escape(given[:_SHOWN])}")
        console.print(escape(one.result[:_SHOWN] + ("…" if len(one.result) > _SHOWN else "")), style="dim")


def show_suggestions(console: Console, waiting: Sequence[Suggestion], found: MiningResult | None) -> None:
    if found is not None:
        console.print(f"Looked at {len(found.facts):,} sessions, read {found.read:,} of them anew.", style="dim")
    if not waiting:
        console.print("Nothing came back in three sessions or more that you have not decided on.")
        return
    table = _table("id", "sessions", "steps", "type")
    for one in waiting:
        table.add_row(one.id, str(one.sessions), escape(one.shape), one.template.task_type.value)
    console.print(table)
    for one in waiting:
        shown = ", ".join(session for session, _ in one.evidence[:3])
        more = " …" if len(one.evidence) > 3 else ""
        where = f" of {one.home}" if one.home else ""
        console.print(f"{one.id}: proven in {escape(shown + more + where)}", style="dim")
    console.print("`sojourn templates approve ID`, `edit ID`, `reject ID`, or `reject ID --never`.")


def show_stats(console: Console, compared: Sequence[Comparison]) -> None:
    if not compared:
        console.print("No templates yet.")
        return
    table = _table("name", "type", "with it", "without", "dropped", "verdict")
    for one in compared:
        row = (_group(one.with_it), _group(one.without), str(one.dropped), one.verdict)
        table.add_row(escape(one.name), one.task_type.value, *row)
    console.print(table)
    for one in compared:
        if one.retires:
            console.print(f"`sojourn templates delete {escape(one.name)}` retires it.", style="yellow")


def warn_unreadable(console: Console, unreadable: Sequence[Unreadable]) -> None:
    for one in unreadable:
        console.print(f"! {escape(one.name)} cannot be read: {escape(one.problem)}", style="yellow")


def _group(group: Group) -> str:
    if not group.sessions:
        return "–"
    return f"{group.sessions} sessions, {group.success:.0%} well, {group.turns:g} turns, {group.tokens:,.0f} tokens"


def _table(*names: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in names:
        right = name in ("examples", "uses", "sessions", "dropped")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    return table


@contextmanager
def show_progress(*, quiet: bool) -> Iterator[Progress | None]:
    """Shows a progress bar while a history is mined; yields the callback `(done, total)`, or None if `quiet`."""
    if quiet:
        yield None
        return
    columns = (TextColumn("Mining"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
