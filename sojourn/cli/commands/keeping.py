"""Small changes to a session: its title, tags, pin and archive; and its end."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import click

from sojourn.cli import shapes
from sojourn.cli.given import Given, with_kit
from sojourn.cli.options import Command, session_argument
from sojourn.core.errors import Conflict, TitleTaken
from sojourn.core.sessions import Session, clean_tag
from sojourn.ports.app import AppContext
from sojourn.ports.store import SessionStore

_TRIES = 5
Change = Callable[[Session], Session]


async def changed(store: SessionStore, words: str, how: Change) -> Session:
    """Applies a change to the session as it is now; if somebody was quicker, to what they made of it."""
    for _ in range(_TRIES - 1):
        old = await store.resolve(words)
        try:
            return await store.change(old, how(old))
        except TitleTaken:
            raise
        except Conflict:
            continue
    old = await store.resolve(words)
    return await store.change(old, how(old))


def name(session: Session) -> str:
    return f'"{session.title}"' if session.title else session.id


@click.command(cls=Command)
@session_argument()
@click.argument("words", metavar="[TITLE]", nargs=-1)
@click.option("--clear", is_flag=True, help="Take the title away.")
@with_kit
async def title(given: Given, kit: AppContext, session: str, words: tuple[str, ...], clear: bool) -> None:
    """Give a session a title; without one, print it."""
    if not words and not clear:
        one = await kit.store.resolve(session)
        given.say(f"{one.id} is called {name(one)}." if one.title else f"{one.id} has no title.", shapes.session(one))
        return
    new = await changed(kit.store, session, lambda old: replace(old, title=None if clear else " ".join(words)))
    given.say(f"{new.id} is now called {name(new)}." if new.title else f"{new.id} has no title.", shapes.session(new))


@click.command(cls=Command)
@session_argument()
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@with_kit
async def tag(given: Given, kit: AppContext, session: str, tags: tuple[str, ...]) -> None:
    """Add tags to a session."""
    added = tuple(clean_tag(one) for one in tags)
    new = await changed(kit.store, session, lambda old: replace(old, tags=(*old.tags, *added)))
    _tell_tags(given, new)


@click.command(cls=Command)
@session_argument()
@click.argument("tags", metavar="TAG...", nargs=-1, required=True)
@with_kit
async def untag(given: Given, kit: AppContext, session: str, tags: tuple[str, ...]) -> None:
    """Take tags away from a session."""
    gone = {clean_tag(one) for one in tags}
    new = await changed(
        kit.store, session, lambda old: replace(old, tags=tuple(one for one in old.tags if one not in gone))
    )
    _tell_tags(given, new)


def _tell_tags(given: Given, session: Session) -> None:
    tags = ", ".join(f"#{one}" for one in session.tags)
    given.say(
        f"{name(session)} is tagged {tags}." if tags else f"{name(session)} has no tags.", shapes.session(session)
    )


def _switch(verb: str, about: str, told: str, how: Change) -> click.Command:
    """A command that sets one mark on any number of sessions."""

    @click.command(verb, cls=Command, help=about)
    @session_argument(many=True)
    @with_kit
    async def switch(given: Given, kit: AppContext, session: tuple[str, ...]) -> None:
        done = [await changed(kit.store, words, how) for words in session]
        given.say(f"{', '.join(map(name, done))} {told}.", [shapes.session(one) for one in done])

    return switch


pin = _switch("pin", "Mark sessions as important.", "pinned", lambda old: replace(old, pinned=True))
unpin = _switch("unpin", "Take that mark away.", "unpinned", lambda old: replace(old, pinned=False))
archive = _switch(
    "archive",
    "Put sessions out of sight; search still finds them.",
    "archived",
    lambda old: replace(old, archived=True),
)
unarchive = _switch(
    "unarchive", "Bring archived sessions back.", "back from the archive", lambda old: replace(old, archived=False)
)


@click.command(cls=Command)
@session_argument()
@click.option("--reason", default="ended by hand", show_default=True, help="Why, for the record.")
@with_kit
async def end(given: Given, kit: AppContext, session: str, reason: str) -> None:
    """End a session; one that has ended keeps its first reason."""
    one = await kit.store.resolve(session)
    holder = f"sojourn sessions end (pid {os.getpid()})"
    lease = await kit.store.lease(one.id, holder=holder, surface="cli", seconds=30.0)
    try:
        done = await kit.store.end(lease, reason)
    finally:
        await kit.store.renew(lease, 0)
    given.say(f"{name(done)} has ended: {done.end_reason}.", shapes.session(done))
