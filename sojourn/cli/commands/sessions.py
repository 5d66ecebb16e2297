"""`sojourn sessions`, and the list of them. The other commands are in the files `sessions_*`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from sojourn.cli.command_table import PRINT_SESSIONS, SESSIONS_COMMANDS
from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonGroup, since_option, source_option, until_option
from sojourn.ports.store import Listing
from sojourn.text.export import session_to_json

if TYPE_CHECKING:
    from sojourn.ports.app import AppContext

NO_LIMIT_SESSIONS = 1_000_000_000  # more than any store holds


@click.group(cls=JsonGroup, lazy=SESSIONS_COMMANDS)
def sessions() -> None:
    """List, read, search and look after sessions.

    A SESSION is named by its id, the beginning of one, its title, or a part of its title.
    """


@sessions.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="At most so many.")
@click.option("--all", "every", is_flag=True, help="No limit.")
@source_option
@click.option("--tag", "tags", multiple=True, help="Only with this tag; may be repeated.")
@click.option("--title", "text", default="", metavar="WORDS", help="Only with these words in the title.")
@click.option("--model", default="", help="Only of this model.")
@click.option("--machine", "machines", multiple=True, metavar="LABEL", help="Only imported there; may be repeated.")
@since_option
@until_option
@click.option("--pinned", is_flag=True, help="Only pinned ones.")
@click.option("--archived", is_flag=True, help="Only archived ones, which are hidden otherwise.")
@with_app
async def list_sessions(
    context: CommandContext,
    app: AppContext,
    limit: int,
    every: bool,
    sources: tuple[str, ...],
    tags: tuple[str, ...],
    text: str,
    model: str,
    machines: tuple[str, ...],
    since: float | None,
    until: float | None,
    pinned: bool,
    archived: bool,
) -> None:
    """List sessions, most recently active first."""
    most = NO_LIMIT_SESSIONS if every else limit
    found = await app.store.find(
        Listing(
            sources=sources,
            tags=tags,
            text=text,
            model=model,
            machines=machines,
            since=since,
            until=until,
            pinned=True if pinned else None,
            archived=archived,
            limit=most + 1,
        )
    )
    if context.json:
        emit([session_to_json(one) for one in found[:most]])
    else:
        more = "--all shows every one." if len(found) > most else ""
        problem = "" if found or not sources else await _describe_unknown(app, sources)
        context.render(PRINT_SESSIONS, found[:most], now=time.time(), more=more, problem=problem)


async def _describe_unknown(app: AppContext, sources: tuple[str, ...]) -> str:
    """What to say when nothing comes from a source; empty if it is a known one."""
    known = (await app.store.stats(by_part=False)).sessions_by_source
    unknown = [one for one in sources if one not in known]
    there = f"There are: {', '.join(sorted(known))}." if known else "There are no sessions yet."
    return f"No session comes from {' or '.join(unknown)}. {there}" if unknown else ""
