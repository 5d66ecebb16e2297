"""`sojourn rescue claude`: rebuilds deleted sessions of Claude Code from what is left of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from sojourn.core.errors import SourceUnreadable
from sojourn.core.settings import Settings
from sojourn.importers.claude_code.importer import NAME as LIVING
from sojourn.importers.claude_code.remains import NAME, SUFFIX, RemainsImporter
from sojourn.importers.import_history import get_machine, import_history
from sojourn.ports.app import AppContext, ImportReport
from sojourn.ports.cli import CliContext
from sojourn.ports.importer import FoundHistory
from sojourn.text.formatting import pluralize


@click.group()
def rescue() -> None:
    """Rebuild sessions that another program deleted, from what is left of them."""


@rescue.command()
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), help="The folder of Claude Code.")
@click.option("--dry-run", is_flag=True, help="Only say what is left.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print the reports as JSON.")
@click.pass_obj
def claude(given: CliContext, home: Path | None, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Rebuild deleted sessions of Claude Code.

    It keeps what you typed, and copies of the files it changed, longer than its transcripts. What can be rebuilt
    becomes sessions of their own; each line of them says whether it is certain or inferred. Sessions whose transcript
    is still there, or was imported, are left alone. The folder is only read.
    """
    homes = [home] if home is not None else _list_homes(given.settings)
    plans = given.run(lambda app: _rescue(app, homes, dry_run=True))
    total = sum(one.imported for one in plans)
    if not as_json:
        click.echo(_render(plans, "can be rebuilt"))
    done: Sequence[ImportReport] = plans
    if total and not dry_run:
        given.confirm(f"Rebuild {pluralize(total, 'session')}?", yes=yes)
        done = given.run(lambda app: _rescue(app, homes, dry_run=False))
        if not as_json:
            click.echo(_render(done, "rebuilt"))
    if as_json:
        click.echo(json.dumps([asdict(one) for one in done], ensure_ascii=False))


def _list_homes(settings: Settings) -> list[Path]:
    if place := settings.places.get("CLAUDE_CONFIG_DIR"):
        return [Path(place)]
    found = [settings.user_home / ".claude", settings.user_home / ".config" / "claude"]
    return [one for one in found if one.is_dir()]


async def _rescue(app: AppContext, homes: Sequence[Path], *, dry_run: bool) -> list[ImportReport]:
    reports = list[ImportReport]()
    for place in homes:
        if not place.is_dir():
            raise SourceUnreadable(f"There is no folder {place}.", hint="Name the folder of Claude Code.")
        home = await asyncio.to_thread(place.resolve)
        known = set(await app.store.list_fingerprints(LIVING, str(home)))
        with RemainsImporter(known).open(home) as reader:
            names = [one.native_id.removesuffix(SUFFIX) for one in await asyncio.to_thread(list, reader.sessions())]
        importer = RemainsImporter(known | await app.store.list_forgotten(LIVING, str(home), names))
        found = FoundHistory(source=NAME, home=home)
        reports.append(
            await import_history(app.store, importer, found, dry_run=dry_run, machine=get_machine(app.settings))
        )
    return reports


def _render(reports: Sequence[ImportReport], what: str) -> str:
    total = sum(one.imported + one.updated for one in reports)
    if not total:
        return "Nothing is left of sessions that were deleted."
    lines = [f"{pluralize(total, 'deleted session')} of Claude Code {what}."]
    lines += [f"  {id}: {why}" for one in reports for id, why in one.skipped]
    return "\n".join(lines)
