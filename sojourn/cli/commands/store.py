"""`sojourn store`: figures, checks, copies and moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from sojourn.cli.command_table import PRINT_MOVE_REPORT, PRINT_STATS, PRINT_VERDICT
from sojourn.cli.context import CommandContext, with_app
from sojourn.cli.options import JsonGroup, yes_option
from sojourn.core.errors import StoreCorrupt
from sojourn.home_files import SavedFiles, archive_beside, remove_old_backups, restore_home_files, save_home_files
from sojourn.ports.app import AppContext
from sojourn.text.formatting import pluralize


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
@click.option(
    "--keep", type=click.IntRange(min=1), help="Then remove all but the newest so many copies of that folder."
)
@with_app
async def backup(context: CommandContext, app: AppContext, target: Path | None, keep: int | None) -> None:
    """Make a consistent copy, while others go on writing.

    TARGET is a folder, which is made if it is not there, or a new file with a name like copy.db; without it the copy
    goes to `backups` in the home. Your notes, skills, templates and settings go into an archive beside it, without
    tokens, keys and passwords.
    """
    home = app.settings.home
    target = (target or home / "backups").absolute()
    if not target.suffix:
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with context.progress() as progress:
        made = await app.backup(target, progress=progress)
    saved = await asyncio.to_thread(save_home_files, home, archive_beside(made))
    removed = await asyncio.to_thread(remove_old_backups, made, keep) if keep else []
    value = {
        "path": str(made),
        "bytes": made.stat().st_size,
        "files_path": str(saved.path) if saved.path else None,
        "files": saved.files,
        "left_out": list(saved.left_out),
        "secrets_left_out": list(saved.secrets),
        "removed": [str(one) for one in removed],
    }
    context.say(f"Copy made: {made}", value)
    if not context.json:
        for line in _describe_files(saved, removed):
            click.echo(f"  {line}")


def _describe_files(saved: SavedFiles, removed: list[Path]) -> Iterator[str]:
    if saved.path:
        yield f"{pluralize(saved.files, 'file')} of yours beside it: {saved.path}"
    if saved.secrets:
        yield f"Not in it, because they are secret: {', '.join(saved.secrets)}; nor the access token."
    if saved.left_out:
        yield f"Not in it: the folders {', '.join(saved.left_out)}."
    if removed:
        yield f"{pluralize(len(removed), 'older copy', 'older copies')} removed."


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
    archive, files = archive_beside(copy), 0
    if archive.is_file():
        files = await asyncio.to_thread(restore_home_files, app.settings.home, archive)
    found = await app.store.stats(by_part=False)
    also = f" {pluralize(files, 'missing file')} put back." if files else ""
    context.say(
        f"Restored from {copy}: {found.sessions:,} sessions, {found.messages:,} messages.{also}",
        {"path": str(copy), "sessions": found.sessions, "messages": found.messages, "files": files},
    )


@store.command("migrate")
@click.option("--to", "target", required=True, metavar="URL", help="postgresql://… or the path of a new home folder.")
@click.option("--dry-run", is_flag=True, help="Only look whether it would work, and how much there is.")
@with_app
async def migrate(context: CommandContext, app: AppContext, target: str, dry_run: bool) -> None:
    """Copy everything to another, empty store and compare both sides.

    Ids, numbers and texts stay as they are; counts and content hashes of every table must agree.
    The store you come from is only read.
    """
    if dry_run:
        await app.migrate(target, dry_run=True)
        found = await app.store.stats(by_part=False)
        words = f"{found.sessions:,} sessions, {found.messages:,} messages, {found.events:,} events would be copied."
        context.say(
            f"The target can be used and is empty. {words}",
            {"dry_run": True, "sessions": found.sessions, "messages": found.messages, "events": found.events},
        )
        return
    with context.progress() as progress:
        report = await app.migrate(target, progress=progress)
    tables = [{"table": table, "rows": number, "hash": proof} for table, number, proof in report.rows]
    context.show({"tables": tables, "seconds": round(report.seconds, 3)}, PRINT_MOVE_REPORT, report)
