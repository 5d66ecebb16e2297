"""`sojourn stop`: stops a turn in any process."""

from __future__ import annotations

import click

from sojourn.cli.context import CommandContext, with_app
from sojourn.cli.options import JsonCommand, session_argument
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller


@click.command(cls=JsonCommand)
@session_argument()
@with_app
async def stop(context: CommandContext, app: AppContext, session: str) -> None:
    """Stop the turn that runs in a session, from any terminal.

    What it has done so far stays. Nothing happens when no turn runs.
    """
    found = await app.store.resolve(session)
    stopped = await app.service.stop(found.id, Caller(surface="cli", holder="sojourn stop"))
    message = "The turn is being stopped." if stopped else "No turn is running there."
    context.say(message, {"session_id": found.id, "stopped": stopped})
