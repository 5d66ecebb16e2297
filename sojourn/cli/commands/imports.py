"""`sojourn import`: previews the histories of other agents and imports them after a yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from sojourn.cli import json_output
from sojourn.cli.command_table import HISTORY_WATCHER, PRINT_HISTORIES, PRINT_IMPORT_REPORT
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import SOURCE, JsonCommand, set_flag, yes_option
from sojourn.core.errors import BadInput, SourceUnreadable
from sojourn.ports.app import AppContext, ImportReport
from sojourn.ports.importer import FoundHistory
from sojourn.text.formatting import pluralize


def _turn_redaction_off(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    set_flag("redact")(ctx, param, False if value else None)


@click.command("import", cls=JsonCommand)
@click.argument("what", metavar="[SOURCE|PATH]", type=SOURCE, required=False)
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@click.option("--watch", is_flag=True, help="Go on: bring in what is new, seconds after it was written.")
@yes_option
@click.option(
    "--no-redact",
    is_flag=True,
    expose_value=False,
    callback=_turn_redaction_off,
    help="Keep keys, tokens and passwords as they are.",
)
@with_app
async def imports(
    context: CommandContext, app: AppContext, what: str | None, dry_run: bool, watch: bool, yes: bool
) -> None:
    """Bring in the history of another agent.

    Looks for Hermes, Claude Code, Codex, opencode, Gemini CLI and others in their usual places,
    or at SOURCE or PATH only.
    Says first what it would do. Other programs' files are only read, and never their credentials.
    Importing again brings in what is new.
    """
    if watch and dry_run:
        raise BadInput("A dry run cannot be watched.", hint="Leave --dry-run or --watch out.")
    found = _find_histories(app, what)
    if not found and not context.json:
        click.echo("No history of another agent was found in the usual places.")
        click.echo("  Name one that is elsewhere: `sojourn import PATH`.")
    reports = await preview_imports(context, app, found)
    todo = select_importable(found, reports)
    if found and not todo:
        reports = [replace(one, dry_run=dry_run) for one in reports]  # nothing was left to import
        if not context.json:
            click.echo("There is nothing new to import.")
    done: dict[tuple[str, str], ImportReport] = {}
    if todo and not dry_run:
        if yes or (context.is_interactive and context.ask(f"Import {_format_total(reports)} now?", default=True)):
            done = {(one.source, one.home): one for one in await run_imports(context, app, todo)}
            reports = [done.get((one.source, one.home)) or replace(one, dry_run=False) for one in reports]
        elif not context.json:
            click.echo("Nothing was imported." + ("" if context.is_interactive else " Use --yes to import."))
    if context.json:
        emit([json_output.encode_import_report(one) for one in reports])
    if watch and (yes or done or not todo):
        await _watch(context, app, what)
    _raise_unreadable(reports)


async def _watch(context: CommandContext, app: AppContext, what: str | None) -> None:
    """Reports each import that brings something, until the person stops it."""

    def report(one: ImportReport) -> None:
        if not (one.new_messages or one.imported or one.problem):
            return
        if context.json:
            emit(json_output.encode_import_report(one))
        else:
            context.render(PRINT_IMPORT_REPORT, one)

    if not context.json:
        click.echo("Watching. Ctrl-C ends it.")
    await HISTORY_WATCHER.load()(app, report, find=lambda: _find_histories(app, what)).run()


def _find_histories(app: AppContext, what: str | None) -> list[FoundHistory]:
    if what is None:
        return app.find_histories()
    path = Path(what).expanduser()
    if path.is_absolute() or "/" in what or path.exists():
        return app.find_histories(path=path.absolute())
    return app.find_histories(source=what)


async def preview_imports(
    context: CommandContext, app: AppContext, found: Sequence[FoundHistory]
) -> list[ImportReport]:
    """Runs a dry run of each history and prints the reports."""
    reports = []
    with context.progress() as progress:
        for one in found:
            reports.append(await app.import_history(one, dry_run=True, progress=progress))
    if found and not context.json:
        context.render(PRINT_HISTORIES, found, reports)
    return reports


def select_importable(found: Sequence[FoundHistory], reports: Sequence[ImportReport]) -> list[FoundHistory]:
    """The histories that are readable and have something new."""
    pairs = zip(found, reports, strict=True)
    return [one for one, report in pairs if not report.problem and report.imported + report.updated]


def _format_total(reports: Sequence[ImportReport]) -> str:
    return pluralize(sum(one.imported + one.updated for one in reports if not one.problem), "session")


async def run_imports(context: CommandContext, app: AppContext, todo: Sequence[FoundHistory]) -> list[ImportReport]:
    """Imports the histories and prints a report for each."""
    reports = []
    for one in todo:
        with context.progress() as progress:
            reports.append(await app.import_history(one, progress=progress))
        if not context.json:
            context.render(PRINT_IMPORT_REPORT, reports[-1])
    return reports


def _raise_unreadable(reports: Sequence[ImportReport]) -> None:
    """SourceUnreadable if a history could not be read; called after the others were imported."""
    broken = [one for one in reports if one.problem]
    if broken:
        places = "; ".join(f"{one.source} at {one.home}: {one.problem}" for one in broken)
        raise SourceUnreadable(
            f"{pluralize(len(broken), 'history', 'histories')} found but not readable: {places}",
            hint="It is not empty. Nothing of it was changed; `sojourn doctor` shows more.",
        )
