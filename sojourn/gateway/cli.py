"""`sojourn gateway` and `sojourn handoff`."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import aclosing, suppress
from typing import Any

import click

from sojourn.core.errors import SojournError, error_class, error_from_code
from sojourn.core.handoff import Handoff
from sojourn.core.sessions import Session
from sojourn.gateway.host import Gateway
from sojourn.gateway.pairing import Identities
from sojourn.gateway.status import lines_of, shown, status
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.ports.service import Caller
from sojourn.service.handoffs import step_text, summary_text

_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
def gateway() -> None:
    """Talk to your sessions from chat networks."""


@gateway.command()
@click.option("--platforms", metavar="NAMES", help="Which networks, separated by commas (gateway.platforms).")
@click.pass_obj
def run(given: CliContext, platforms: str | None) -> None:
    """Serve chat networks until stopped, without the HTTP API.

    Without any configuration it serves the rooms of `local`.
    """
    if platforms is not None:
        given.flags["gateway.platforms"] = platforms
    given.run(_run)


async def _run(kit: AppContext) -> None:
    made = Gateway(kit)
    working, stop = asyncio.create_task(made.run()), asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    stopping, ready = asyncio.create_task(stop.wait()), asyncio.create_task(made.ready.wait())
    await asyncio.wait({working, stopping, ready}, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        names = ", ".join(line.adapter.info.name for line in made.lines) or "nothing"
        click.echo(f"ready gateway {made.id}: {names}")
        for name, why in made.problems.items():
            click.echo(f"! {name} is left out: {why} {why.hint}", err=True)
        sys.stdout.flush()
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
    for task in (ready, stopping, working):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await working


@gateway.command("status")
@_json
@click.pass_obj
def show_status(given: CliContext, as_json: bool) -> None:
    """Which gateways are alive, and how their lines get on."""
    found = given.run(lambda kit: status(kit.store))
    click.echo(json.dumps(found) if as_json or given.json else "\n".join(lines_of(found)))


@gateway.command()
@click.argument("code", required=False)
@click.option(
    "--as",
    "who",
    type=click.Choice(["owner", "guest"]),
    default="guest",
    show_default=True,
    help="Whether that is you, or somebody who gets sessions of their own.",
)
@click.option("--name", default="", help="What to call them. Several identities with one name are one guest.")
@click.option("--remove", metavar="PLATFORM:PERSON", help="Lets somebody out again.")
@_json
@click.pass_obj
def pair(given: CliContext, code: str | None, who: str, name: str, remove: str | None, as_json: bool) -> None:
    """Let somebody in who was given a code. Without one: who waits, and who is in."""
    found = given.run(lambda kit: _pair(Identities(kit.store, kit.settings), code, who == "owner", name, remove))
    click.echo(json.dumps(found) if as_json or given.json else "\n".join(found["told"]))


async def _pair(people: Identities, code: str | None, owner: bool, name: str, remove: str | None) -> dict[str, Any]:
    if remove:
        platform, _, sender = remove.partition(":")
        gone = await people.unpair(platform, sender)
        return {"removed": gone, "told": [f"{remove} is out." if gone else f"{remove} was not in."]}
    if code:
        request, principal = await people.pair(code, as_owner=owner, name=name)
        said = f"{request.name} ({request.platform}:{request.sender}) may talk as {principal}."
        return {"platform": request.platform, "sender": request.sender, "principal": principal, "told": [said]}
    waiting, paired = await people.requests(), await people.paired()
    told = [f"waits: {one.name or one.sender} on {one.platform} ({one.sender})" for one in waiting]
    told += [f"in: {person.name} on {platform} ({sender}) as {person.principal}" for platform, sender, person in paired]
    return {
        "waiting": [{"platform": one.platform, "sender": one.sender, "name": one.name} for one in waiting],
        "paired": [{"platform": a, "sender": b, "principal": person.principal} for a, b, person in paired],
        "told": told or ["Nobody waits, and nobody was let in yet."],
    }


@click.command()
@click.argument("session")
@click.option("--to", "to", required=True, metavar="PLATFORM[:CHAT]", help="Where to: local, telegram:42, cli …")
@click.option("--wait", "seconds", type=float, metavar="SECONDS", help="How long to wait for a gateway.")
@click.option("--detach", is_flag=True, help="Do not wait for the end.")
@_json
@click.pass_obj
def handoff(given: CliContext, session: str, to: str, seconds: float | None, detach: bool, as_json: bool) -> None:
    """Hand a session over to a chat network. Ends with 0 only when it has arrived.

    SESSION is an id, the beginning of one, or a title. Without a chat it lands in the home channel.
    """
    quiet = as_json or given.json
    if seconds is not None:
        given.flags["handoff.wait_seconds"] = seconds
    found, done = given.run(lambda kit: _hand_over(kit, session, to, detach=detach, quiet=quiet))
    has_worked = done.state == "completed" or (detach and done.is_live)
    if quiet:
        click.echo(json.dumps(shown(done)))
    elif has_worked:
        click.echo(_ended(found, done))
    if has_worked:
        return
    if quiet:
        raise click.exceptions.Exit(error_class(done.error_code).exit_code if done.error_code else 1)
    raise _error(done)


async def _hand_over(kit: AppContext, words: str, to: str, *, detach: bool, quiet: bool) -> tuple[Session, Handoff]:
    """Requests it in the name of the session's driver, whichever surface that is."""
    service, by = kit.service, Caller(surface="")
    session = await service.resolve(words)
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


def _ended(session: Session, done: Handoff) -> str:
    if done.is_live:
        return f"On its way ({done.id})."
    return summary_text(done, session)


def _error(done: Handoff) -> SojournError:
    hint = "The session here is intact. `sojourn gateway status` shows how the gateway gets on."
    return error_from_code(done.error_code, f"The hand-off did not work: {done.error or done.state}", hint=hint)
