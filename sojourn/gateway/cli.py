"""`sojourn gateway` and `sojourn handoff`."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import aclosing
from typing import Any

import click

from sojourn.asyncio_tasks import cancel_task
from sojourn.core.handoff import Handoff
from sojourn.core.sessions import Session
from sojourn.gateway.host import Gateway
from sojourn.gateway.network_setup_cli import SETUP_COMMANDS
from sojourn.gateway.pairing import Identities
from sojourn.gateway.status import handoff_to_json, read_status, render_status
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.ports.service import Caller
from sojourn.text.codec import error_class, error_from_code
from sojourn.text.handoff_text import step_text, summary_text

_json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
def gateway() -> None:
    """Talk to your sessions from chat networks."""


@gateway.command()
@click.option("--platforms", metavar="NAMES", help="Which networks, separated by commas (gateway.platforms).")
@click.pass_obj
def run(cli: CliContext, platforms: str | None) -> None:
    """Serve chat networks until stopped, without the HTTP API.

    Without any configuration it serves the rooms of `local`.
    """
    if platforms is not None:
        cli.flags["gateway.platforms"] = platforms
    cli.run(_run)


async def _run(app: AppContext) -> None:
    host = Gateway(app)
    work, stop = asyncio.create_task(host.run()), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    stopped, ready = asyncio.create_task(stop.wait()), asyncio.create_task(host.ready.wait())
    await asyncio.wait({work, stopped, ready}, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        names = ", ".join(connection.adapter.info.name for connection in host.connections) or "nothing"
        click.echo(f"ready gateway {host.id}: {names}")
        for name, error in host.problems.items():
            click.echo(f"! {name} is not served: {error} {error.hint}", err=True)
        sys.stdout.flush()
        await asyncio.wait({work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    ready.cancel()
    stopped.cancel()
    await cancel_task(work)


for _command in SETUP_COMMANDS:
    gateway.add_command(_command)


@gateway.command("status")
@_json_option
@click.pass_obj
def show_status(cli: CliContext, as_json: bool) -> None:
    """Show the running gateways and the state of their connections."""
    status = cli.run(lambda app: read_status(app.store))
    click.echo(json.dumps(status) if as_json or cli.json else render_status(status))


@gateway.command()
@click.argument("code", required=False)
@click.option(
    "--as",
    "role",
    type=click.Choice(["owner", "guest"]),
    default="guest",
    show_default=True,
    help="Whether it is you, or a guest with sessions of their own.",
)
@click.option("--name", default="", help="What to call them. Several identities with the same name are one guest.")
@click.option("--remove", metavar="PLATFORM:PERSON", help="Remove somebody who was paired.")
@_json_option
@click.pass_obj
def pair(cli: CliContext, code: str | None, role: str, name: str, remove: str | None, as_json: bool) -> None:
    """Pair the person who got a code. Without one: list pairing requests and paired people."""
    result = cli.run(lambda app: _pair(Identities(app.store, app.settings), code, role == "owner", name, remove))
    click.echo(json.dumps(result) if as_json or cli.json else "\n".join(result["told"]))


async def _pair(
    identities: Identities, code: str | None, as_owner: bool, name: str, remove: str | None
) -> dict[str, Any]:
    if remove:
        platform, _, sender = remove.partition(":")
        was_paired = await identities.unpair(platform, sender)
        return {"removed": was_paired, "told": [f"{remove} {'was removed' if was_paired else 'was not paired'}."]}
    if code:
        request, principal = await identities.pair(code, as_owner=as_owner, name=name)
        text = f"{request.name} ({request.platform}:{request.sender}) is paired as {principal}."
        return {"platform": request.platform, "sender": request.sender, "principal": principal, "told": [text]}
    requests, paired = await identities.requests(), await identities.list_paired()
    lines = [f"waiting: {one.name or one.sender} on {one.platform} ({one.sender})" for one in requests]
    lines += [f"paired: {who.name} on {platform} ({sender}) as {who.principal}" for platform, sender, who in paired]
    return {
        "waiting": [{"platform": one.platform, "sender": one.sender, "name": one.name} for one in requests],
        "paired": [{"platform": one, "sender": sender, "principal": who.principal} for one, sender, who in paired],
        "told": lines or ["Nobody is waiting, and nobody is paired yet."],
    }


@click.command()
@click.argument("session")
@click.option("--to", "to", required=True, metavar="PLATFORM[:CHAT]", help="Where to: local, telegram:42, cli …")
@click.option("--wait", "seconds", type=float, metavar="SECONDS", help="How long to wait for a gateway.")
@click.option("--detach", is_flag=True, help="Do not wait for the end.")
@_json_option
@click.pass_obj
def handoff(cli: CliContext, session: str, to: str, seconds: float | None, detach: bool, as_json: bool) -> None:
    """Hand a session over to a chat network. Exits with 0 only when it has arrived.

    SESSION is an id, the beginning of one, or a title. Without a chat it goes to the home channel.
    """
    quiet = as_json or cli.json
    if seconds is not None:
        cli.flags["handoff.wait_seconds"] = seconds
    moved, last = cli.run(lambda app: _hand_over(app, session, to, detach=detach, quiet=quiet))
    has_worked = last.state == "completed" or (detach and last.is_live)
    if quiet:
        click.echo(json.dumps(handoff_to_json(last)))
    elif has_worked:
        click.echo(f"On its way ({last.id})." if last.is_live else summary_text(last, moved))
    if has_worked:
        return
    if quiet:
        raise click.exceptions.Exit(error_class(last.error_code).exit_code if last.error_code else 1)
    hint = "The session here is intact. `sojourn gateway status` shows the state of the gateway."
    raise error_from_code(last.error_code, f"The hand-off failed: {last.error or last.state}", hint=hint)


async def _hand_over(app: AppContext, name: str, to: str, *, detach: bool, quiet: bool) -> tuple[Session, Handoff]:
    """Requests the hand-off in the name of the session's driver, and follows it unless `detach`."""
    service, by = app.service, Caller(surface="")
    session = await service.resolve(name)
    platform, _, target = to.partition(":")
    handoff = await service.hand_off(session.id, platform, by=by, target=target, wait=not detach)
    if detach:
        return session, handoff
    async with aclosing(service.follow_handoff(handoff)) as steps:
        async for handoff in steps:
            if not quiet and (text := step_text(handoff)):
                click.echo(f"… {text}")
                sys.stdout.flush()
    return await service.get(session.id), handoff
