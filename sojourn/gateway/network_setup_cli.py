"""`sojourn gateway list`, `add`, `remove` and `test`: the set-up of networks in a terminal."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import click

from sojourn.asyncio_tasks import run_beside
from sojourn.core.errors import BadInput, KeyRefused, MissingPackage, PlatformDown
from sojourn.gateway.connections import build_adapter
from sojourn.gateway.host import Gateway
from sojourn.gateway.network_setup import (
    Network,
    NetworkField,
    add_network,
    find_network,
    find_receiver_problem,
    list_networks,
    remove_network,
    require_known_settings,
    send_test_message,
)
from sojourn.gateway.network_sign_in import open_steps, walk_steps
from sojourn.gateway.pairing_invitations import PairingInvitation, PairingInvitations, build_start_link
from sojourn.gateway.status import find_line_states, render_connection
from sojourn.optional_packages import build_install_command, install_packages, list_encryption_packages
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.ports.platform import BotProfile
from sojourn.ports.plugin import SignInStep
from sojourn.text.formatting import one_line
from sojourn.text.qr_code import render_code

_HOW_TO = "docs/how-to/receive-requests.md"
_FAREWELL_SECONDS = 1.5
_MARKS = {"good": "✓", "stuck": "!", "down": "✗"}

_json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.command("list")
@_json_option
@click.pass_obj
def list_all(cli: CliContext, as_json: bool) -> None:
    """List every network: whether it is set up, and how its connection is."""
    networks = list_networks(cli.app)
    lines = cli.run(lambda app: find_line_states(app.store))
    if as_json or cli.json:
        click.echo(json.dumps([asdict(one) | {"line": lines.get(one.name)} for one in networks], default=str))
        return
    for one in networks:
        click.echo(_render_network(one, lines.get(one.name)))
    click.echo("\nSet one up: sojourn gateway add NAME")


def _render_network(network: Network, line: dict[str, Any] | None) -> str:
    if line is not None:
        return f"{_MARKS[line['health']]} {network.name:<15} {render_connection(line, time.time())}"
    if network.is_configured:
        return f"· {network.name:<15} set up; no gateway serves it (`sojourn serve`)"
    return f"  {network.name:<15} {network.summary}"


@click.command()
@click.argument("network")
@click.option("--set", "given", multiple=True, metavar="KEY=VALUE", help="A setting; asked for if it is needed.")
@click.option("--no-pairing", is_flag=True, help="Do not wait for you to be paired.")
@_json_option
@click.pass_obj
def add(cli: CliContext, network: str, given: tuple[str, ...], no_pairing: bool, as_json: bool) -> None:
    """Set up a network: asks for what it needs, checks it there, and keeps it.

    A running gateway serves it at once. Secrets are not shown while they are typed.
    """
    found = find_network(cli.app, network)
    values = dict(_split_value(one) for one in given)
    _offer_packages(cli, found)
    _offer_encryption(cli, found)
    require_known_settings(found, values)
    missing = [one for one in found.fields if one.is_required and one.name not in values]
    if missing and not found.can_sign_in:
        missing = [one for one in found.fields if one.name not in values and _is_asked_for(cli, one)]
    elif missing and cli.is_interactive:
        values |= cli.run(lambda app: walk_steps(open_steps(app, found, values), _show_step))
        missing = []
    profile = _ask_and_add(cli, found, values, missing)
    if as_json or cli.json:
        click.echo(json.dumps({"network": found.name, "profile": asdict(profile) if profile else None}))
        return
    _show_added(found, profile)
    if cli.is_interactive and not no_pairing:
        _pair_owner(cli, found, profile)


def _ask_and_add(
    cli: CliContext, network: Network, values: dict[str, str], missing: Sequence[NetworkField]
) -> BotProfile | None:
    """Asks for what is missing, checks it and keeps it. At a terminal, what is wrong is asked for again."""
    typed = dict[str, str]()
    while True:
        typed = {one.name: _ask_for(cli, network, one, typed.get(one.name, "")) for one in missing}
        values.update({one.name: typed[one.name] for one in missing if typed[one.name] != str(one.default)})
        try:
            return cli.run(lambda app: add_network(app, network, values))
        except (KeyRefused, PlatformDown, BadInput) as error:
            if not missing:
                raise
            click.echo(f"✗ {one_line(f'{error} {error.hint}')}", err=True)
            click.echo("Try again (Enter: as before), or press Ctrl-C.\n", err=True)


def _show_added(network: Network, profile: BotProfile | None) -> None:
    known = [one_line(one) for one in (profile.name, profile.address) if one] if profile else []
    whom = f": {known[0]}" + (f" ({known[1]})" if known[1:] else "") if known else ""
    click.echo(f"✓ {network.name} is set up{whom}.")
    if profile and profile.picture:
        click.echo(f"  Its picture: {one_line(profile.picture)}")
    if network.receives_at:
        click.echo(f"  {network.name} has to reach {network.receives_at} from outside. How: {_HOW_TO}")


def _offer_packages(cli: CliContext, network: Network) -> None:
    """Installs what a network needs and is not there, if the person says yes."""
    if not network.missing_packages:
        return
    packages = list(network.missing_packages)
    if not cli.is_interactive:
        raise MissingPackage(
            f"{network.name} needs packages that are not installed: {', '.join(packages)}.",
            hint=f"Install them: `sojourn plugins install {network.plugin} --yes`",
        )
    click.echo(f"{network.name} needs packages that are not installed: {', '.join(packages)}.")
    click.echo(f"  {shlex.join(build_install_command(packages))}")
    cli.confirm("Install them with this command?", yes=False)
    cli.run(lambda _: install_packages(packages))
    click.echo("✓ They are installed.")


def _offer_encryption(cli: CliContext, network: Network) -> None:
    """Installs what encrypted chats need, if the person says yes; without it, they are not read."""
    packages = list_encryption_packages(network.plugin)
    if not packages:
        return
    extra = f"sojourn plugins install {network.plugin}-e2e"
    needed = f"Encrypted chats of {network.name} need packages that are not installed: {', '.join(packages)}."
    click.echo(needed, err=True)
    if not cli.is_interactive:
        click.echo(f"  They are not read without: {extra}", err=True)
        return
    click.echo(f"  {shlex.join(build_install_command(packages))}")
    if click.confirm("Install them with this command?", default=False, prompt_suffix=" "):
        cli.run(lambda _: install_packages(packages))
        click.echo("✓ They are installed.")
    else:
        click.echo(f"  Encrypted chats are not read. Later: {extra}")


def _split_value(given: str) -> tuple[str, str]:
    name, separator, value = given.partition("=")
    if not separator:
        raise BadInput(f"{given!r} is not a setting.", hint="Write --set key=value.")
    return name, value


def _is_asked_for(cli: CliContext, one: NetworkField) -> bool:
    """What is not required is asked for at a terminal, if there is something to say about it."""
    return one.is_required or (cli.is_interactive and bool(one.where))


def _ask_for(cli: CliContext, network: Network, wanted: NetworkField, typed: str) -> str:
    """A setting. Enter gives what was typed before, or the default."""
    if not cli.is_interactive:
        raise BadInput(
            f"{network.name} needs `{wanted.name}`, and there is no terminal to ask on.",
            hint=f"Add --set {wanted.name}=…",
        )
    if wanted.where:
        click.echo(wanted.where)
    default = typed or (None if wanted.is_required else wanted.default)
    is_shown = bool(default) and not wanted.is_secret
    answer = click.prompt(wanted.label, default=default, show_default=is_shown, hide_input=wanted.is_secret)
    return str(answer).strip()


def _show_step(step: SignInStep) -> str:
    """Shows one step of a sign-in; returns what the person typed."""
    if step.scan:
        click.echo(f"{render_code(step.scan)}\n{one_line(step.scan)}")
    if step.has_question:
        return str(click.prompt(step.text, hide_input=step.is_secret)).strip()
    click.echo(step.text)
    return ""


def _pair_owner(cli: CliContext, network: Network, profile: BotProfile | None) -> None:
    """Pairs the person at the terminal, who sends a code to the bot. Without a gateway one runs here meanwhile."""
    try:
        is_paired = cli.run(lambda app: _wait_for_pairing(app, network, profile))
    except KeyboardInterrupt:
        is_paired = False
    if is_paired:
        click.echo("✓ You are paired. Hand-offs arrive in that chat. `sojourn serve` keeps the connection.")
    else:
        click.echo("Not paired. Later: write to the bot, and use the code it answers with: sojourn gateway pair CODE")


async def _wait_for_pairing(app: AppContext, network: Network, profile: BotProfile | None) -> bool:
    """Shows an invitation, and waits until somebody has used it; False when it has expired."""
    adapter = build_adapter(app, network.name)
    await adapter.close()
    if adapter.info.system or adapter.info.owner:  # nobody is paired there
        return True
    invitations = PairingInvitations(app.store)
    invitation = await invitations.create(network.name)
    _show_invitation(invitation, profile)
    async with _use_gateway(app, network):
        return await invitations.wait_until_used(network.name)


def _show_invitation(invitation: PairingInvitation, profile: BotProfile | None) -> None:
    whom = (profile.address or profile.name) if profile else "the bot"
    code = invitation.code
    click.echo(f"\nPair yourself: send this to {one_line(whom)}, in a private chat, within ten minutes.\n")
    click.echo(f"    {code[:4]}-{code[4:]}\n")
    if link := build_start_link(profile, code):
        click.echo(f"Or open {link}\n{render_code(link)}")
    click.echo("Waiting … (Ctrl-C: later)")
    sys.stdout.flush()


@asynccontextmanager
async def _use_gateway(app: AppContext, network: Network) -> AsyncGenerator[None, None]:
    """A gateway for the new network: one that runs already, or one in this process."""
    if await app.store.gateways():
        yield
        return
    async with run_beside(Gateway(app, [build_adapter(app, network.name)]).run()):
        yield
        await asyncio.sleep(_FAREWELL_SECONDS)  # it tells them that they are paired


@click.command()
@click.argument("network")
@click.pass_obj
def remove(cli: CliContext, network: str) -> None:
    """Remove a network's settings; a running gateway leaves it at once."""
    remove_network(cli.app, find_network(cli.app, network))
    click.echo(f"✓ {network} is removed. Its sessions stay.")


@click.command("test")
@click.argument("network")
@click.option("--to", "chat", default="", metavar="CHAT", help="Where to; default: your home channel there.")
@click.pass_obj
def send_test(cli: CliContext, network: str, chat: str) -> None:
    """Send a test message, and check whether requests of the network can be received."""
    found = find_network(cli.app, network)
    if found.receives_at:
        problem = find_receiver_problem(found)
        click.echo(f"✗ {problem}" if problem else f"✓ Sojourn answers at {found.receives_at}. From outside: {_HOW_TO}")
    name = cli.run(lambda app: send_test_message(app, found, chat))
    click.echo(f"✓ A test message was sent to {name} on {network}.")


SETUP_COMMANDS = (list_all, add, remove, send_test)
