"""`sojourn store`: figures, checks, copies and moves."""

from __future__ import annotations

from pathlib import Path

import click

from sojourn.cli import shapes
from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Section, yes_option
from sojourn.core.errors import StoreCorrupt
from sojourn.ports.app import AppContext


@click.group(cls=Section)
def store() -> None:
    """Figures, checks, copies and moves of the store."""


@store.command("stats")
@with_kit
async def stats(given: Given, kit: AppContext) -> None:
    """The store in figures: how much it holds, and what takes the room."""
    found = await kit.store.stats()
    if given.json:
        emit(shapes.stats(found))
    else:
        given.draw("stats", found)


@store.command("verify")
@with_kit
async def verify(given: Given, kit: AppContext) -> None:
    """Check every page and every row. Exits with 5 if something is wrong."""
    with given.progress() as progress:
        found = await kit.store.verify(progress)
    if given.json:
        emit(shapes.verdict(found))
    else:
        given.draw("verdict", found)
    if not found.clean:
        raise click.exceptions.Exit(StoreCorrupt.exit_code)


@store.command("backup")
@click.argument("target", type=click.Path(path_type=Path), required=False)
@with_kit
async def backup(given: Given, kit: AppContext, target: Path | None) -> None:
    """Make a consistent copy, while others go on writing.

    TARGET is a new file or a folder; without it the copy goes to `backups` in the home.
    """
    if target is None:
        target = kit.settings.home / "backups"
        target.mkdir(parents=True, exist_ok=True, mode=0o700)
    with given.progress() as progress:
        made = await kit.backup(target.absolute(), progress=progress)
    given.say(f"Copy made: {made}", {"path": str(made), "bytes": made.stat().st_size if made.is_file() else None})


@store.command("restore")
@click.argument("copy", type=click.Path(path_type=Path))
@yes_option
@with_kit
async def restore(given: Given, kit: AppContext, copy: Path, yes: bool) -> None:
    """Put a copy in the store's place. Asks first; what was there is kept beside it.

    Into PostgreSQL a copy is loaded only if the database is empty.
    """
    if kit.settings["database_url"]:
        question = f"Load {copy} into the database? It has to be empty: what is in a database is never replaced."
    else:
        question = f"Replace the store in {kit.settings.home} by {copy}? What is there now is kept beside it."
    given.insist(question, yes=yes)
    with given.progress() as progress:
        await kit.restore(copy.absolute(), progress=progress)
    found = await kit.store.stats()
    given.say(
        f"Restored from {copy}: {found.sessions:,} sessions, {found.messages:,} messages.",
        {"path": str(copy), "sessions": found.sessions, "messages": found.messages},
    )


@store.command("migrate")
@click.option("--to", "target", required=True, metavar="URL", help="postgresql://… or the path of a new home folder.")
@with_kit
async def migrate(given: Given, kit: AppContext, target: str) -> None:
    """Copy everything to another, empty store and compare both sides.

    Ids, numbers and texts stay as they are; counts and content hashes of every table must agree.
    The store you come from is only read.
    """
    with given.progress() as progress:
        report = await kit.migrate(target, progress=progress)
    if given.json:
        emit(shapes.moved(report))
    else:
        given.draw("moved", report)
