"""`sojourn sessions prune`: moves old sessions into the trash."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sojourn.cli.context import CommandContext, emit, with_app
from sojourn.cli.options import JsonCommand, TimeParam, yes_option
from sojourn.core.errors import Conflict
from sojourn.ports.store import Listing
from sojourn.text.formatting import format_time, one_line, pluralize

if TYPE_CHECKING:
    from sojourn.core.sessions import Session
    from sojourn.ports.app import AppContext

_PAGE_SESSIONS = 500
_SHOWN_SESSIONS = 10


@click.command(cls=JsonCommand)
@click.option(
    "--older-than", "before", type=TimeParam(), required=True, help="Not used since: 90d, 12w, 1y or 2026-01-31."
)
@click.option("--dry-run", is_flag=True, help="Only list them.")
@yes_option
@with_app
async def prune(context: CommandContext, app: AppContext, before: float, dry_run: bool, yes: bool) -> None:
    """Move sessions that were not used for long into the trash.

    Pinned ones stay. What is in the trash can be taken out again until it is emptied.
    """
    found = await _find_old(app, before)
    if not dry_run and found:
        if not context.json:
            for line in _describe(found):
                click.echo(line)
        context.confirm(f"Move {pluralize(len(found), 'session')} into the trash?", yes=yes)
        await _move(app, found)
    value = {"older_than": format_time(before), "dry_run": dry_run, "sessions": [one.id for one in found]}
    if context.json:
        emit(value)
        return
    if dry_run:
        for line in _describe(found):
            click.echo(line)
    verb = "would be moved" if dry_run else "moved"
    context.say(f"{pluralize(len(found), 'session')} {verb} into the trash.")


async def _find_old(app: AppContext, before: float) -> list[Session]:
    """Sessions without a pin that were last used before that time, archived ones too."""
    found: list[Session] = []
    while page := await app.store.find(
        Listing(until=before, archived=None, pinned=False, limit=_PAGE_SESSIONS, skip=len(found))
    ):
        found += page
    return found


async def _move(app: AppContext, sessions: list[Session]) -> None:
    now = time.time()
    for one in sessions:
        try:
            await app.store.change(one, replace(one, trashed_at=now))
        except Conflict:  # it is used again, or was changed meanwhile: it stays
            click.echo(f"! {one.id} was changed meanwhile and stays.", err=True)


def _describe(sessions: list[Session]) -> list[str]:
    lines = [
        f"  {format_time(one.last_active)}  {one_line(one.title or one.preview or one.id, 60)}"
        for one in sessions[:_SHOWN_SESSIONS]
    ]
    more = len(sessions) - _SHOWN_SESSIONS
    return [*lines, f"  … and {more} more"] if more > 0 else lines
