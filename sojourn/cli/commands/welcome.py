"""`sojourn welcome`: the first look. Without a terminal it asks nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict

import click

from sojourn.cli import json_output
from sojourn.cli.command_table import PRINT_GREETING, PRINT_NEXT_STEPS, PRINT_SESSIONS
from sojourn.cli.commands.doctor import to_check
from sojourn.cli.commands.imports import preview_imports, run_imports, select_importable
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand
from sojourn.core.errors import StoreUnavailable
from sojourn.ports.app import AppContext, ImportReport
from sojourn.ports.importer import FoundHistory
from sojourn.ports.store import Listing
from sojourn.text.export import session_to_json
from sojourn.text.formatting import pluralize

_MAX_SESSIONS = 10


@click.command(cls=JsonCommand)
@with_app
async def welcome(context: CommandContext, app: AppContext) -> None:
    """A first look: health, histories found, your sessions.

    Offers to import what it finds, and sample sessions if there is nothing. Without a terminal it asks
    nothing and imports nothing; an empty store gets the samples. The next time it only shows what there is.
    """
    health = await app.store.health()
    if not context.json:
        context.render(PRINT_GREETING, to_check(health))
    report = {"health": asdict(health), "histories": [], "imports": [], "samples_added": 0, "sessions": []}
    if not health.readable:
        if context.json:
            emit(report)
        raise click.exceptions.Exit(StoreUnavailable.exit_code)
    is_first = await app.store.is_empty()
    found = app.find_histories()
    reports: list[ImportReport] = []
    samples = 0
    if is_first and health.state == "healthy":
        reports = await _offer_imports(context, app, found)
        if await app.store.is_empty() and _wants_samples(context):
            samples = await app.add_samples()
    newest = await app.store.find(Listing(limit=_MAX_SESSIONS + 1))
    if context.json:
        report["histories"] = [json_output.encode_history(one) for one in found]
        report["imports"] = [json_output.encode_import_report(one) for one in reports]
        report["samples_added"] = samples
        report["sessions"] = [session_to_json(one) for one in newest[:_MAX_SESSIONS]]
        return emit(report)
    if samples:
        context.say(f"{pluralize(samples, 'sample session')} added.")
    more = "`sojourn sessions list` shows more." if len(newest) > _MAX_SESSIONS else ""
    context.render(PRINT_SESSIONS, newest[:_MAX_SESSIONS], now=time.time(), more=more)
    context.render(PRINT_NEXT_STEPS, await _find_unimported(app, found))


async def _offer_imports(context: CommandContext, app: AppContext, found: Sequence[FoundHistory]) -> list[ImportReport]:
    """Shows a dry run of each history and imports them after a yes."""
    if not found or not context.is_interactive:
        return []
    reports = await preview_imports(context, app, found)
    todo = select_importable(found, reports)
    if not todo:
        return []
    total = pluralize(sum(one.imported for one in reports), "session")
    click.echo("Importing only reads there, never credentials; keys and passwords are blacked out in our copy.")
    if context.ask(f"Import {total} now?", default=True):
        return await run_imports(context, app, todo)
    click.echo("Skipped. Run `sojourn import` later to import them.")
    return []


def _wants_samples(context: CommandContext) -> bool:
    return not context.is_interactive or context.ask(
        "There are no sessions yet. Add a few samples to look around?", default=True
    )


async def _find_unimported(app: AppContext, found: Sequence[FoundHistory]) -> list[FoundHistory]:
    """Histories from which nothing has been imported yet."""
    return [
        one for one in found if not one.problem and not await app.store.list_fingerprints(one.source, str(one.home))
    ]
