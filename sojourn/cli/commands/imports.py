"""`sojourn import`: the histories of other agents, looked at first and brought in after a yes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sojourn.cli import shapes
from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Command, keep, yes_option
from sojourn.cli.table import load
from sojourn.cli.words import many
from sojourn.core.errors import SourceUnreadable
from sojourn.ports.app import AppContext, ImportReport
from sojourn.ports.source import Found

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Place(click.ParamType[str]):
    """A program by name, or a path."""

    name = "source"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given = ctx.find_object(Given)
        found: list[CompletionItem] = load("sojourn.cli.completing:places")(given, incomplete) if given else []
        return found


def _raw(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    keep("redact")(ctx, param, False if value else None)


@click.command("import", cls=Command)
@click.argument("what", metavar="[SOURCE|PATH]", type=Place(), required=False)
@click.option("--dry-run", is_flag=True, help="Only say what would be imported.")
@yes_option
@click.option(
    "--no-redact", is_flag=True, expose_value=False, callback=_raw, help="Keep keys, tokens and passwords as they are."
)
@with_kit
async def imports(given: Given, kit: AppContext, what: str | None, dry_run: bool, yes: bool) -> None:
    """Bring in the history of another agent.

    Looks for Hermes, Claude Code, Codex and opencode in their usual places, or at SOURCE or PATH only.
    Says first what it would do. Other programs' files are only read, and never their credentials.
    Importing again brings in what is new.
    """
    found = _find(kit, what)
    if not found and not given.json:
        click.echo("No history of another agent was found in the usual places.")
        click.echo("  Name one that is elsewhere: `sojourn import PATH`.")
    reports = await look(given, kit, found)
    todo = worth_importing(found, reports)
    if found and not todo:
        reports = [replace(one, dry_run=dry_run) for one in reports]  # all there was to do has been done
        if not given.json:
            click.echo("There is nothing new to import.")
    if todo and not dry_run:
        if yes or (given.is_asking and given.ask(f"Import {_total(todo, reports)} now?", default=True)):
            done = {(one.source, one.home): one for one in await bring(given, kit, todo)}
            reports = [done.get((one.source, one.home)) or replace(one, dry_run=False) for one in reports]
        elif not given.json:
            click.echo("Nothing was imported." + ("" if given.is_asking else " Say it with --yes."))
    if given.json:
        emit([shapes.report(one) for one in reports])
    _raise_unreadable(reports)


def _find(kit: AppContext, what: str | None) -> list[Found]:
    if what is None:
        return kit.find_histories()
    path = Path(what).expanduser()
    if path.is_absolute() or "/" in what or path.exists():
        return kit.find_histories(path=path.absolute())
    return kit.find_histories(source=what)


async def look(given: Given, kit: AppContext, found: Sequence[Found]) -> list[ImportReport]:
    """The dry run of each history, shown."""
    reports = []
    with given.progress() as progress:
        for one in found:
            reports.append(await kit.import_history(one, dry_run=True, progress=progress))
    if found and not given.json:
        given.draw("found", found, reports)
    return reports


def worth_importing(found: Sequence[Found], reports: Sequence[ImportReport]) -> list[Found]:
    """Those histories that can be read and have something new."""
    pairs = zip(found, reports, strict=True)
    return [one for one, report in pairs if not report.problem and report.imported + report.updated]


def _total(todo: Sequence[Found], reports: Sequence[ImportReport]) -> str:
    return many(sum(one.imported + one.updated for one in reports if not one.problem), "session")


async def bring(given: Given, kit: AppContext, todo: Sequence[Found]) -> list[ImportReport]:
    """Imports, and shows what became of each history."""
    reports = []
    for one in todo:
        with given.progress() as progress:
            reports.append(await kit.import_history(one, progress=progress))
        if not given.json:
            given.draw("reports", reports[-1:])
    return reports


def _raise_unreadable(reports: Sequence[ImportReport]) -> None:
    """Found but unreadable is an error, after everything else was brought in."""
    broken = [one for one in reports if one.problem]
    if broken:
        places = "; ".join(f"{one.source} at {one.home}: {one.problem}" for one in broken)
        raise SourceUnreadable(
            f"{many(len(broken), 'history', 'histories')} found but not readable: {places}",
            hint="It is not empty. Nothing of it was changed; `sojourn doctor` shows more.",
        )
