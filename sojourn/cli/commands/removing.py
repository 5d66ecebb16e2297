"""Taking sessions away: `delete` removes, `forget` also sees to it that nothing of it is left."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sojourn.cli import shapes
from sojourn.cli.commands.keeping import name
from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Command, session_argument, yes_option
from sojourn.cli.words import many, one_line
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing, Removed, SessionStore

FOR_EVER = """Forgetting is for ever:
  · every message, its place in the search index, the facts that were remembered in it and what plugins
    made of it are erased;
  · the store's file is rewritten, so that no byte of it stays in free pages;
  · an import will not bring it back.
  The program it was imported from keeps its own copy, which we never touch."""


async def _described(store: SessionStore, sessions: Sequence[Session]) -> str:
    """What would go, in one line for each session."""
    lines = []
    for one in sessions:
        children = await store.find(Listing(parent=one.id, archived=None, limit=1000))
        inner = f" and {many(len(children), 'sub-agent')}" if children else ""
        name = one_line(one.title or one.preview or "(empty)", 80)
        lines.append(f"  {one.id}  {name} — {many(one.message_count, 'message')}{inner}")
    return "\n".join(lines)


def _told(removed: Removed) -> str:
    parts = [many(number, table.removesuffix("s"), table) for table, number in removed.rows.items() if number]
    return ", ".join(parts) or "nothing"


@click.command(cls=Command)
@session_argument(many=True)
@yes_option
@with_kit
async def delete(given: Given, kit: AppContext, session: tuple[str, ...], yes: bool) -> None:
    """Delete sessions with their sub-agents. Asks first."""
    found = [await kit.store.resolve(words) for words in session]
    if not yes and given.is_asking:
        click.echo(f"This removes:\n{await _described(kit.store, found)}")
    given.insist(f"Delete {many(len(found), 'session')}?", yes=yes)
    done = []
    for one in found:
        removed = await kit.store.delete(one.id)
        done.append(removed)
        if not given.json:
            given.say(f"{name(one)} deleted: {_told(removed)}.")
    if given.json:
        emit([shapes.removed(one) for one in done])


@click.command(cls=Command)
@session_argument()
@yes_option
@click.option("--purge-backups", is_flag=True, help="Also delete the copies that may still hold it.")
@with_kit
async def forget(given: Given, kit: AppContext, session: str, yes: bool, purge_backups: bool) -> None:
    """Erase a session for ever, from every file under the home. Asks first."""
    one = await kit.store.resolve(session)
    if not yes and given.is_asking:
        click.echo(f"{FOR_EVER}\nThis erases:\n{await _described(kit.store, [one])}")
    given.insist("Forget it for ever?", yes=yes)
    removed = await kit.forget(one.id, purge_backups=purge_backups)
    if given.json:
        return emit(shapes.removed(removed))
    given.say(f"{name(one)} forgotten: {_told(removed)}.")
    for file in removed.files:
        click.echo(f"  erased from {file}")
    for left in removed.left:
        click.echo(f"  ! {left}")
    if removed.backups:
        _offer_purge(given, kit, removed)


def _offer_purge(given: Given, kit: AppContext, removed: Removed) -> None:
    click.echo(f"{many(len(removed.backups), 'copy', 'copies')} made earlier may still hold it:")
    for backup in removed.backups:
        click.echo(f"  {backup}")
    if not given.is_asking:
        click.echo("  Delete them by hand; with --purge-backups they go along with the session.")
    elif given.ask("Delete these copies too?"):
        kit.purge(removed)
        given.say(f"{many(len(removed.backups), 'copy', 'copies')} deleted.")
