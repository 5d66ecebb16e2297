"""`sojourn schedule`: prompts that run by themselves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from sojourn.core.errors import SojournError
from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.schedules.schedule_check import check_schedule
from sojourn.server_file import is_serving, read_server_file
from sojourn.text.formatting import format_time, one_line
from sojourn.turn_support.handoff_destinations import require_gateway

if TYPE_CHECKING:
    from sojourn.schedules.recurrence import Recurrence, parse_recurrence  # noqa: F401
    from sojourn.schedules.schedule_book import Schedule, ScheduleBook
    from sojourn.schedules.schedule_json import run_to_json, schedule_to_json  # noqa: F401

# Lazy: `--help` needs no time zones.
BOOK: Lazy[type[ScheduleBook]] = Lazy("sojourn.schedules.schedule_book:ScheduleBook")
SCHEDULE: Lazy[type[Schedule]] = Lazy("sojourn.schedules.schedule_book:Schedule")
PARSE: Lazy[Callable[..., Recurrence]] = Lazy("sojourn.schedules.recurrence:parse_recurrence")
SCHEDULE_JSON: Lazy[Callable[..., dict[str, Any]]] = Lazy("sojourn.schedules.schedule_json:schedule_to_json")
RUN_JSON: Lazy[Callable[..., dict[str, Any]]] = Lazy("sojourn.schedules.schedule_json:run_to_json")
_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


@click.group()
def schedule() -> None:
    """Prompts that run by themselves.

    They run while a server runs; `sojourn service install` keeps one running. Each run is a session of its own.
    """


@schedule.command("add")
@click.argument("when")
@click.argument("text")
@click.option("--name", default="", help="What to call it.")
@click.option("--deliver", default="", metavar="PLATFORM[:CHAT]", help="Hand the session over to a chat network.")
@click.option("--timezone", default="", metavar="NAME", help="Like Europe/Berlin; this machine's if left out.")
@click.option("--runtime", default="", metavar="NAME", help="What thinks.")
@click.option("--model", default="", metavar="NAME", help="Which model.")
@click.option(
    "--budget", type=click.FloatRange(min=0), default=0.0, metavar="USD", help="Pause it at this cost a month."
)
@_json_option
@click.pass_obj
def add(
    cli: CliContext,
    when: str,
    text: str,
    name: str,
    deliver: str,
    timezone: str,
    runtime: str,
    model: str,
    budget: float,
    as_json: bool,
) -> None:
    """Say TEXT at the times WHEN.

    WHEN is "every weekday 8:00", "every monday and friday 18:30", "every 15 minutes", or a cron expression of five
    fields. Nobody can answer a question then: what asks is refused.
    """
    made = SCHEDULE.load()(
        id="",
        name=name or one_line(text, 60),
        when=when,
        recurrence=PARSE.load()(when, timezone),
        text=text,
        deliver=deliver,
        runtime=runtime,
        model=model,
        cwd=str(Path.cwd()),
        budget_usd=budget,
    )

    async def work(app: AppContext) -> None:
        check_schedule(app, deliver=deliver, runtime=runtime)
        kept = await BOOK.load()(app.store).add(made)
        if as_json or cli.json:
            click.echo(json.dumps(SCHEDULE_JSON.load()(kept)))
            return
        click.echo(f"✓ “{kept.name}” ({kept.id}) runs next on {_next_time(kept)}.")
        for warning in await _list_warnings(app, deliver):
            click.echo(f"! {warning}", err=True)

    cli.run(work)


async def _list_warnings(app: AppContext, deliver: str) -> list[str]:
    """What keeps a schedule from running, or its answer from arriving, as things are now."""
    running = read_server_file(app.settings.home)
    if running is None or running.until_idle or not is_serving(running):
        return [
            "Nothing would run it now. `sojourn service install` keeps a server running; `sojourn serve` starts one."
        ]
    try:
        if deliver:
            await require_gateway(app.store, deliver.partition(":")[0])
    except SojournError as error:
        return [f"{error} {error.hint}".strip()]
    return []


def _next_time(schedule: Schedule) -> str:
    """By the clock of the schedule: `Thu 2026-11-19 08:00 (Europe/Berlin)`."""
    zone = schedule.recurrence.timezone
    upcoming = schedule.recurrence.next_time(max(schedule.last_at, time.time()))
    if upcoming is None:
        return "no day at all"
    return f"{datetime.fromtimestamp(upcoming, ZoneInfo(zone)):%a %Y-%m-%d %H:%M} ({zone})"


@schedule.command("list")
@_json_option
@click.pass_obj
def list_schedules(cli: CliContext, as_json: bool) -> None:
    """List the schedules, and when each runs next."""

    async def work(app: AppContext) -> None:
        found = await BOOK.load()(app.store).list_schedules()
        if as_json or cli.json:
            click.echo(json.dumps([SCHEDULE_JSON.load()(one) for one in found]))
            return
        if not found:
            click.echo('There are no schedules. `sojourn schedule add "every weekday 8:00" "…"` adds one.')
        for one in found:
            state = f"paused: {one.paused}" if one.paused else f"next on {_next_time(one)}"
            missed = f", {one.missed} missed" if one.missed else ""
            delivery = f", to {one.deliver}" if one.deliver else ""
            click.echo(f"{one.id}  {one.name}\n          {one.when}{delivery}; {state}{missed}")

    cli.run(work)


@schedule.command("runs")
@click.argument("which")
@_json_option
@click.pass_obj
def runs(cli: CliContext, which: str, as_json: bool) -> None:
    """List what became of the times of a schedule. WHICH is its id or name."""

    async def work(app: AppContext) -> None:
        book = BOOK.load()(app.store)
        found = await book.list_runs(await book.find(which))
        if as_json or cli.json:
            click.echo(json.dumps([RUN_JSON.load()(one) for one in found]))
            return
        if not found:
            click.echo("It has not run yet.")
        for one in found:
            click.echo(f"{format_time(one.at)}  {one.state:<9}  {one.session or ''}  {one.error}".rstrip())

    cli.run(work)


def _edit(name: str, help: str, paused: str, said: str) -> None:
    @schedule.command(name, help=help)
    @click.argument("which")
    @click.pass_obj
    def command(cli: CliContext, which: str) -> None:
        async def work(app: AppContext) -> None:
            book = BOOK.load()(app.store)
            changed = await book.change(await book.find(which), lambda one: replace(one, paused=paused))
            click.echo(f"✓ “{changed.name}” {said}.")

        cli.run(work)


_edit("pause", "Pause a schedule. WHICH is its id or name.", "you paused it", "is paused")
_edit("resume", "Resume a schedule. WHICH is its id or name.", "", "runs again")


@schedule.command("remove")
@click.argument("which")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(cli: CliContext, which: str, yes: bool) -> None:
    """Remove a schedule. The sessions of its runs stay. WHICH is its id or name."""

    async def work(app: AppContext) -> None:
        book = BOOK.load()(app.store)
        found = await book.find(which)
        cli.confirm(f"Remove the schedule “{found.name}”?", yes=yes)
        await book.remove(found)
        click.echo(f"✓ “{found.name}” is removed.")

    cli.run(work)
