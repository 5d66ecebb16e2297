"""`sojourn sessions delete` removes sessions; `forget` also erases every trace of one."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sojourn.cli import json_output
from sojourn.cli.commands.sessions_edit import label_of
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand, session_argument, yes_option
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing, Removed, SessionStore
from sojourn.text.formatting import one_line, pluralize

FOR_EVER = """Forgetting is for ever:
  · every message, its place in the search index, the facts that were remembered in it and what plugins
    made of it are erased;
  · the store's file is rewritten, so that no byte of it stays in free pages;
  · an import will not bring it back.
  The program it was imported from keeps its own copy, which we never touch."""


async def _describe(store: SessionStore, sessions: Sequence[Session]) -> str:
    """One line for each session that would be removed."""
    lines = []
    for one in sessions:
        children = await store.find(Listing(parent=one.id, archived=None, limit=1000))
        inner = f" and {pluralize(len(children), 'sub-agent')}" if children else ""
        name = one_line(one.title or one.preview or "(empty)", 80)
        lines.append(f"  {one.id}  {name} — {pluralize(one.message_count, 'message')}{inner}")
    return "\n".join(lines)


def _format_counts(removed: Removed) -> str:
    parts = [pluralize(number, table.removesuffix("s"), table) for table, number in removed.rows.items() if number]
    return ", ".join(parts) or "nothing"


@click.command(cls=JsonCommand)
@session_argument(many=True)
@yes_option
@with_app
async def delete(context: CommandContext, app: AppContext, session: tuple[str, ...], yes: bool) -> None:
    """Delete sessions with their sub-agents. Asks first."""
    found = [await app.store.resolve(words) for words in session]
    if not yes and context.is_interactive:
        click.echo(f"This removes:\n{await _describe(app.store, found)}")
    context.confirm(f"Delete {pluralize(len(found), 'session')}?", yes=yes)
    done = []
    for one in found:
        removed = await app.store.delete(one.id)
        done.append(removed)
        if not context.json:
            context.say(f"{label_of(one)} deleted: {_format_counts(removed)}.")
    if context.json:
        emit([json_output.encode_removal(one) for one in done])


@click.command(cls=JsonCommand)
@session_argument()
@yes_option
@click.option("--purge-backups", is_flag=True, help="Also delete the copies that may still hold it.")
@with_app
async def forget(context: CommandContext, app: AppContext, session: str, yes: bool, purge_backups: bool) -> None:
    """Erase a session for ever, from every file under the home. Asks first."""
    one = await app.store.resolve(session)
    if not yes and context.is_interactive:
        click.echo(f"{FOR_EVER}\nThis erases:\n{await _describe(app.store, [one])}")
    context.confirm("Forget it for ever?", yes=yes)
    removed = await app.forget(one.id, purge_backups=purge_backups)
    if context.json:
        return emit(json_output.encode_removal(removed))
    context.say(f"{label_of(one)} forgotten: {_format_counts(removed)}.")
    for file in removed.files:
        click.echo(f"  erased from {file}")
    for left in removed.remaining:
        click.echo(f"  ! {left}")
    if removed.backups:
        _offer_purge(context, app, removed)


def _offer_purge(context: CommandContext, app: AppContext, removed: Removed) -> None:
    click.echo(f"{pluralize(len(removed.backups), 'copy', 'copies')} made earlier may still hold it:")
    for backup in removed.backups:
        click.echo(f"  {backup}")
    if not context.is_interactive:
        click.echo("  Delete them by hand; with --purge-backups they go along with the session.")
    elif context.ask("Delete these copies too?"):
        app.purge(removed)
        context.say(f"{pluralize(len(removed.backups), 'copy', 'copies')} deleted.")
