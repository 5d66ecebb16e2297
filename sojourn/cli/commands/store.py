"""`sojourn store`: figures, checks, copies and moves."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from sojourn.cli.command_table import PRINT_MOVE_REPORT, PRINT_STATS, PRINT_VERDICT
from sojourn.cli.context import CommandContext, with_app
from sojourn.cli.options import JsonGroup, yes_option
from sojourn.core.errors import StoreCorrupt
from sojourn.ports.app import AppContext


@click.group(cls=JsonGroup)
def store() -> None:
    """Figures, checks, copies and moves of the store."""


@store.command("stats")
@with_app
async def stats(context: CommandContext, app: AppContext) -> None:
    """The store in figures: how much it holds, and what uses the space."""
    found = await app.store.stats()
    context.show(asdict(found), PRINT_STATS, found)


@store.command("verify")
@with_app
async def verify(context: CommandContext, app: AppContext) -> None:
    """Check every page and every row. Exits with 5 if something is wrong."""
    with context.progress() as progress:
        found = await app.store.verify(progress)
    context.show({"clean": found.clean, **asdict(found)}, PRINT_VERDICT, found)
    if not found.clean:
        raise click.exceptions.Exit(StoreCorrupt.exit_code)


@store.command("backup")
@click.argument("target", type=click.Path(path_type=Path), required=False)
@with_app
async def backup(context: CommandContext, app: AppContext, target: Path | None) -> None:
    """Make a consistent copy, while others go on writing.

    TARGET is a new file or a folder; without it the copy goes to `backups` in the home.
    """
    if target is None:
        target = app.settings.home / "backups"
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with context.progress() as progress:
        made = await app.backup(target.absolute(), progress=progress)
    context.say(f"Copy made: {made}", {"path": str(made), "bytes": made.stat().st_size if made.is_file() else None})


@store.command("restore")
@click.argument("copy", type=click.Path(path_type=Path))
@yes_option
@with_app
async def restore(context: CommandContext, app: AppContext, copy: Path, yes: bool) -> None:
    """Put a copy in the store's place. Asks first; what was there is kept beside it.

    Into PostgreSQL a copy is loaded only if the database is empty.
    """
    if app.settings["database_url"]:
        question = f"Load {copy} into the database? It has to be empty: what is in a database is never replaced."
    else:
        question = f"Replace the store in {app.settings.home} by {copy}? What is there now is kept beside it."
    context.confirm(question, yes=yes)
    with context.progress() as progress:
        await app.restore(copy.absolute(), progress=progress)
    found = await app.store.stats()
    context.say(
        f"Restored from {copy}: {found.sessions:,} sessions, {found.messages:,} messages.",
        {"path": str(copy), "sessions": found.sessions, "messages": found.messages},
    )


@store.command("migrate")
@click.option("--to", "target", required=True, metavar="URL", help="postgresql://… or the path of a new home folder.")
@with_app
async def migrate(context: CommandContext, app: AppContext, target: str) -> None:
    """Copy everything to another, empty store and compare both sides.

    Ids, numbers and texts stay as they are; counts and content hashes of every table must agree.
    The store you come from is only read.
    """
    with context.progress() as progress:
        report = await app.migrate(target, progress=progress)
    tables = [{"table": table, "rows": number, "hash": proof} for table, number, proof in report.rows]
    context.show({"tables": tables, "seconds": round(report.seconds, 3)}, PRINT_MOVE_REPORT, report)
