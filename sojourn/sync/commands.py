"""`sojourn sync FOLDER|ssh://HOST/FOLDER`: brings the sessions of several machines together."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from sojourn.core.errors import BadInput
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.sync.bundles import open_group
from sojourn.sync.folder_sync import FolderSync, SyncReport
from sojourn.sync.ssh_folder import SCHEME, SshFolder, parse_address
from sojourn.text.formatting import dump_json, pluralize

HOME_NAME = "~"  # the person's home, which is another folder on each machine


@click.command()
@click.argument("folder", metavar="FOLDER|ssh://HOST/FOLDER")
@click.option(
    "--map",
    "maps",
    metavar="NAME=FOLDER",
    multiple=True,
    help="A folder that is elsewhere on the other machines, under a name they use too; may be repeated.",
)
@click.option("--new-machine", is_flag=True, help="Go on as a machine of its own: this home is a copy of another one.")
@click.pass_obj
def sync(given: CliContext, folder: str, maps: tuple[str, ...], new_machine: bool) -> None:
    """Bring the sessions of several machines together, through a folder.

    FOLDER is one that a program such as Syncthing or Dropbox keeps the same everywhere, a stick, or a folder on a
    machine that you reach by ssh. Run it on each machine; nothing runs in between. What is written there is encrypted
    with a key that stays in the homes.
    """

    async def work(app: AppContext) -> SyncReport:
        remote = SshFolder(parse_address(folder), app.settings.home) if folder.startswith(SCHEME) else None
        place = remote.replica if remote is not None else Path(folder)
        if remote is not None:
            await asyncio.to_thread(remote.fetch)
        key, is_begun = open_group(place, app.settings.home)
        if is_begun and remote is not None:
            await asyncio.to_thread(remote.push_group)
        if is_begun and not given.json:
            _tell_key(key.group, app.settings.home)
        run = FolderSync(app, key, place, _parse_maps(maps) | {HOME_NAME: str(app.settings.user_home)})
        report = await run.run(as_new_machine=new_machine)
        if remote is not None:
            await asyncio.to_thread(remote.push)
        return report

    report = given.run(work)
    if given.json:
        click.echo(dump_json(report.to_json()))
    else:
        _print(report)
    if report.refused:
        raise click.exceptions.Exit(1)


def _tell_key(group: str, home: Path) -> None:
    click.echo(
        f"This begins a group of machines. Copy sync-{group}.key from {home} into the home of "
        "each other machine, over ssh for example; never through the folder."
    )


def _parse_maps(maps: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in maps:
        name, _, folder = one.partition("=")
        if not name.isidentifier() or not Path(folder).is_absolute():
            raise BadInput(f"--map {one} is not NAME=FOLDER.", hint="For example --map work=/home/me/work")
        found[name] = folder.rstrip("/")
    return found


def _print(report: SyncReport) -> None:
    click.echo(
        f"{pluralize(report.sent, 'session')} sent, {pluralize(report.received, 'session')} received "
        f"({pluralize(report.messages, 'message')}), {pluralize(report.forgotten, 'session')} forgotten."
    )
    for branch in report.branches:
        click.echo(f"◦ Two machines went on with one session; the later words are in the branch {branch}.")
    for line in report.waiting:
        click.echo(f"… {line}")
    for line in report.refused:
        click.echo(f"✗ {line}", err=True)
