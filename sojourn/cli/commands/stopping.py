"""`sojourn stop`: a word to a turn, wherever it runs."""

from __future__ import annotations

import click

from sojourn.cli.given import Given, with_kit
from sojourn.cli.options import Command, session_argument
from sojourn.ports.app import AppContext
from sojourn.ports.service import Speaker


@click.command(cls=Command)
@session_argument()
@with_kit
async def stop(given: Given, kit: AppContext, session: str) -> None:
    """Stop the turn that runs in a session, from any terminal.

    What it has done so far stays. Nothing happens when no turn runs.
    """
    found = await kit.store.resolve(session)
    stopped = await kit.service.stop(found.id, Speaker(surface="cli", holder="sojourn stop"))
    said = "The turn is told to stop." if stopped else "No turn runs there."
    given.say(said, {"session_id": found.id, "stopped": stopped})
