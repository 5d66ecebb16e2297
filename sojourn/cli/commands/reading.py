"""`sojourn sessions show` and `search`: what was said."""

from __future__ import annotations

import time
from collections import deque

import click

from sojourn.cli import shapes
from sojourn.cli.given import Given, dump, emit, with_kit
from sojourn.cli.options import Command, SessionWords, session_argument, since_option, source_option, until_option
from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded
from sojourn.ports.kit import Kit
from sojourn.ports.store import SearchQuery
from sojourn.text.transcript import fold, is_undone


@click.command(cls=Command)
@session_argument()
@click.option("--full", is_flag=True, help="Unfold tool calls; show reasoning.")
@click.option("--all", "every", is_flag=True, help="Also what was undone.")
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N messages.")
@click.option("--raw", is_flag=True, help="One line of JSON for each message.")
@with_kit
async def show(given: Given, kit: Kit, session: str, full: bool, every: bool, last: int | None, raw: bool) -> None:
    """Read a session."""
    one = await kit.store.resolve(session)
    rows: deque[Recorded] = deque(maxlen=last)
    hidden = 0
    async for row in kit.store.read(one.id, messages_only=True):
        if not every and isinstance(row.item, Message) and is_undone(row.item):
            hidden += 1
        else:
            rows.append(row)
    if raw:
        for row in rows:
            click.echo(dump(shapes.message(row)))
    elif given.json:
        emit(shapes.whole(one, [shapes.message(row) for row in rows]))
    else:
        given.draw("transcript", one, fold(rows), full=full, hidden=hidden)


@click.command(cls=Command)
@click.argument("words", nargs=-1, required=True)
@click.option("--role", "roles", multiple=True, metavar="ROLE", help="Only user, assistant, tool …; may be repeated.")
@source_option
@click.option("--tool", default="", metavar="NAME", help="Only messages that call, or answer for, this tool.")
@since_option
@until_option
@click.option("--session", type=SessionWords(), metavar="SESSION", help="Only in this session.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many hits.")
@with_kit
async def search(
    given: Given,
    kit: Kit,
    words: tuple[str, ...],
    roles: tuple[str, ...],
    sources: tuple[str, ...],
    tool: str,
    since: float | None,
    until: float | None,
    session: str | None,
    limit: int,
) -> None:
    """Search in everything that was said, and in titles.

    All words must be there. "Two words" in quotes stand one after the other; conf* is a beginning;
    get_user also finds getUser.
    """
    within = (await kit.store.resolve(session)).id if session else None
    found = await kit.store.search(
        SearchQuery(
            text=" ".join(_quoted(word) for word in words),
            session=within,
            roles=roles,
            sources=sources,
            tool=tool,
            since=since,
            until=until,
            limit=limit + 1,
        )
    )
    if given.json:
        emit([shapes.hit(one) for one in found[:limit]])
    else:
        given.draw("hits", found[:limit], now=time.time(), more=len(found) > limit)


def _quoted(word: str) -> str:
    """The shell took the quotes of "two words" away; they meant something."""
    return f'"{word}"' if any(c.isspace() for c in word.strip()) and '"' not in word else word
