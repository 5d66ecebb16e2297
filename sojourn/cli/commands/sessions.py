"""`sojourn sessions`, and the list of them. The other commands are in the files beside this one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from sojourn.cli import shapes
from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Section, since_option, source_option, until_option
from sojourn.ports.store import Listing

if TYPE_CHECKING:
    from sojourn.ports.app import AppContext

EVERY = 1_000_000_000  # more than any store holds


_HERE = "sojourn.cli.commands"
_LATER = {
    **{name: f"{_HERE}.reading:{name}" for name in ("show", "search")},
    **{
        name: f"{_HERE}.keeping:{name}"
        for name in ("title", "tag", "untag", "pin", "unpin", "archive", "unarchive", "end")
    },
    "export": f"{_HERE}.exporting:export",
    **{name: f"{_HERE}.removing:{name}" for name in ("delete", "forget")},
}


@click.group(cls=Section, later=_LATER)
def sessions() -> None:
    """List, read, search and look after sessions.

    A SESSION is named by its id, the beginning of one, or its title.
    """


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--all", "every", is_flag=True, help="No limit.")
@source_option
@click.option("--tag", "tags", multiple=True, help="Only with this tag; may be repeated.")
@click.option("--title", "text", default="", metavar="WORDS", help="Only with these words in the title.")
@click.option("--model", default="", help="Only of this model.")
@since_option
@until_option
@click.option("--pinned", is_flag=True, help="Only pinned ones.")
@click.option("--archived", is_flag=True, help="Only archived ones, which are hidden otherwise.")
@with_kit
async def listing(
    given: Given,
    kit: AppContext,
    limit: int,
    every: bool,
    sources: tuple[str, ...],
    tags: tuple[str, ...],
    text: str,
    model: str,
    since: float | None,
    until: float | None,
    pinned: bool,
    archived: bool,
) -> None:
    """List sessions, most recently active first."""
    most = EVERY if every else limit
    found = await kit.store.find(
        Listing(
            sources=sources,
            tags=tags,
            text=text,
            model=model,
            since=since,
            until=until,
            pinned=True if pinned else None,
            archived=archived,
            limit=most + 1,
        )
    )
    if given.json:
        emit([shapes.session(one) for one in found[:most]])
    else:
        more = "--all shows every one." if len(found) > most else ""
        given.draw("sessions", found[:most], now=time.time(), more=more)
