"""`sojourn welcome`: the first look. Asks nothing when nobody is there to answer."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from sojourn.cli import shapes
from sojourn.cli.checking import told
from sojourn.cli.commands.imports import bring, look, worth_importing
from sojourn.cli.given import Given, emit, with_kit
from sojourn.cli.options import Command
from sojourn.cli.words import many
from sojourn.core.health import Health
from sojourn.ports.app import AppContext, ImportReport
from sojourn.ports.source import Found
from sojourn.ports.store import Listing

_SHOWN = 10


@click.command(cls=Command)
@with_kit
async def welcome(given: Given, kit: AppContext) -> None:
    """A first look: health, histories found, your sessions.

    Offers to import what it finds, and sample sessions if there is nothing. Without a terminal it asks
    nothing and imports nothing; an empty store gets the samples. The next time it only shows what there is.
    """
    health = await kit.store.health()
    if not given.json:
        given.draw("greeting", told(health))
    if not health.readable:
        return _cannot(given, health)
    is_first = await kit.store.is_empty()
    found = kit.find_histories()
    reports: list[ImportReport] = []
    samples = 0
    if is_first and health.state == "healthy":
        reports = await _offer(given, kit, found)
        if await kit.store.is_empty() and _wants_samples(given):
            samples = await kit.add_samples()
    newest = await kit.store.find(Listing(limit=_SHOWN + 1))
    if given.json:
        return emit(
            {
                "health": shapes.health(health),
                "histories": [shapes.found(one) for one in found],
                "imports": [shapes.report(one) for one in reports],
                "samples_added": samples,
                "sessions": [shapes.session(one) for one in newest[:_SHOWN]],
            }
        )
    if samples:
        given.say(f"{many(samples, 'sample session')} added; each title says so.")
    more = "`sojourn sessions list` shows more." if len(newest) > _SHOWN else ""
    given.draw("sessions", newest[:_SHOWN], now=time.time(), more=more)
    given.draw("next steps", await _new(kit, found))


def _cannot(given: Given, health: Health) -> None:
    if given.json:
        emit({"health": shapes.health(health), "histories": [], "imports": [], "samples_added": 0, "sessions": []})
    raise click.exceptions.Exit(5)


async def _offer(given: Given, kit: AppContext, found: Sequence[Found]) -> list[ImportReport]:
    """Shows what a dry run says and imports after a yes."""
    if not found or not given.is_asking:
        return []
    reports = await look(given, kit, found)
    todo = worth_importing(found, reports)
    if not todo:
        return []
    total = many(sum(one.imported for one in reports), "session")
    click.echo("Importing only reads there, never credentials; keys and passwords are blacked out in our copy.")
    if given.ask(f"Import {total} now?", default=True):
        return await bring(given, kit, todo)
    click.echo("Fine. `sojourn import` does it later.")
    return []


def _wants_samples(given: Given) -> bool:
    return not given.is_asking or given.ask(
        "There are no sessions yet. Add a few samples to look around?", default=True
    )


async def _new(kit: AppContext, found: Sequence[Found]) -> list[Found]:
    """Histories of which nothing was brought in yet."""
    return [one for one in found if not one.problem and not await kit.store.known(one.source, str(one.home))]
