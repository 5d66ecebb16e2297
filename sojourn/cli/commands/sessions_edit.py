"""`sojourn sessions` commands that change one or remove it: title, tags, pin, archive, end, delete and forget."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

import click

from sojourn.cli import json_output
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand, session_argument, yes_option
from sojourn.core.errors import Conflict, TitleTaken
from sojourn.core.sessions import Session
from sojourn.ports.app import AppContext
from sojourn.ports.store import Listing, Removed, SessionStore
from sojourn.text.export import session_to_json
from sojourn.text.formatting import one_line, pluralize
from sojourn.text.titles import clean_tag

_MAX_TRIES = 5
Change = Callable[[Session], Session]
Tags = tuple[str, ...]


async def change_session(store: SessionStore, words: str, how: Change) -> Session:
    """Applies a change; retries it on the new version after a concurrent change."""
    for _ in range(_MAX_TRIES - 1):
        old = await store.resolve(words)
        try:
            return await store.change(old, how(old))
        except TitleTaken:
            raise
        except Conflict:
            continue
    old = await store.resolve(words)
    return await store.change(old, how(old))


def label_of(session: Session) -> str:
    return f'"{session.title}"' if session.title else session.id


@click.command(cls=JsonCommand)
@session_argument()
@click.argument("words", metavar="[TITLE]", nargs=-1)
@click.option("--clear", is_flag=True, help="Take the title away.")
@with_app
async def title(context: CommandContext, app: AppContext, session: str, words: tuple[str, ...], clear: bool) -> None:
    """Give a session a title; without one, print it."""
    if words or clear:
        one = await change_session(
            app.store, session, lambda old: replace(old, title=None if clear else " ".join(words))
        )
        verb = "is now called"
    else:
        one, verb = await app.store.resolve(session), "is called"
    outcome = f"{verb} {label_of(one)}" if one.title else "has no title"
    context.say(f"{one.id} {outcome}.", session_to_json(one))


def _make_tag_command(verb: str, about: str, how: Callable[[Tags, Tags], Tags]) -> click.Command:
    """Builds a command that changes tags: `how(old, given)` returns the new ones."""

    @click.command(verb, cls=JsonCommand, help=about)
    @session_argument()
    @click.argument("tags", metavar="TAG...", nargs=-1, required=True)
    @with_app
    async def change_tags(context: CommandContext, app: AppContext, session: str, tags: Tags) -> None:
        given = tuple(clean_tag(one) for one in tags)
        new = await change_session(app.store, session, lambda old: replace(old, tags=how(old.tags, given)))
        names = ", ".join(f"#{one}" for one in new.tags)
        outcome = f"is tagged {names}" if names else "has no tags"
        context.say(f"{label_of(new)} {outcome}.", session_to_json(new))

    return change_tags


tag = _make_tag_command("tag", "Add tags to a session.", lambda old, given: (*old, *given))
untag = _make_tag_command(
    "untag", "Take tags away from a session.", lambda old, given: tuple(one for one in old if one not in given)
)


def _make_switch(verb: str, about: str, outcome: str, how: Change) -> click.Command:
    """Builds a command that sets one flag on any number of sessions."""

    @click.command(verb, cls=JsonCommand, help=about)
    @session_argument(many=True)
    @with_app
    async def switch(context: CommandContext, app: AppContext, session: tuple[str, ...]) -> None:
        done = [await change_session(app.store, words, how) for words in session]
        context.say(f"{', '.join(map(label_of, done))} {outcome}.", [session_to_json(one) for one in done])

    return switch


pin = _make_switch("pin", "Mark sessions as important.", "pinned", lambda old: replace(old, pinned=True))
unpin = _make_switch("unpin", "Take that mark away.", "unpinned", lambda old: replace(old, pinned=False))
archive = _make_switch(
    "archive",
    "Put sessions out of sight; search still finds them.",
    "archived",
    lambda old: replace(old, archived=True),
)
unarchive = _make_switch(
    "unarchive", "Bring archived sessions back.", "back from the archive", lambda old: replace(old, archived=False)
)


@click.command(cls=JsonCommand)
@session_argument()
@click.option("--reason", default="ended by hand", show_default=True, help="Why, for the record.")
@with_app
async def end(context: CommandContext, app: AppContext, session: str, reason: str) -> None:
    """End a session; one that has ended keeps its first reason."""
    one = await app.store.resolve(session)
    holder = f"sojourn sessions end (pid {os.getpid()})"
    lease = await app.store.lease(one.id, holder=holder, surface="cli", seconds=30.0)
    try:
        done = await app.store.end(lease, reason)
    finally:
        await app.store.renew(lease, 0)
    context.say(f"{label_of(done)} has ended: {done.end_reason}.", session_to_json(done))


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


_COUNTED = {"sessions": "session", "messages": "message", "blobs": "attached file"}  # what people know; JSON has all


def _format_counts(removed: Removed) -> str:
    parts = [pluralize(removed.rows[table], noun) for table, noun in _COUNTED.items() if removed.rows.get(table)]
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
        removed = await app.delete(one.id)
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
