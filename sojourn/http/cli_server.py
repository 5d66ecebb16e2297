"""`sojourn server`: the running server of this home, shown, stopped or started again."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import datetime
from http.client import HTTPException
from typing import Any

import click

from sojourn.core.errors import Conflict, ServerUnreachable
from sojourn.core.settings import Settings
from sojourn.ports.cli import CliContext
from sojourn.server_file import STOP_SECONDS, Server, ask_to_stop, is_serving, read_server_file, request_json
from sojourn.text.formatting import format_time, pluralize

_STATUS_SECONDS, _POLL_SECONDS = 5.0, 0.2
_START_SECONDS = 60.0  # until a server that starts again answers
_json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
_now_option = click.option("--now", is_flag=True, help="Interrupt running turns instead of waiting for their end.")


@click.group()
def server() -> None:
    """The running server: show it, stop it, start it again.

    `sojourn chat` starts a server when there is none; that one stops when nobody needs it. An open chat starts it
    again.
    """


@server.command("status")
@_json_option
@click.pass_obj
def show_status(cli: CliContext, as_json: bool) -> None:
    """Say whether a server runs, and where. Exits with 1 if none does."""
    running = _find(cli.settings)
    if as_json or cli.json:
        click.echo(json.dumps({"running": running is not None, **(_ask_status(running) if running else {})}))
    elif running is None:
        click.echo("No server runs. `sojourn serve` starts one; `sojourn chat` starts one by itself.")
    else:
        for line in _describe(_ask_status(running), int(cli.settings["server.port"])):
            click.echo(line)
    if running is None:
        raise click.exceptions.Exit(1)


@server.command("stop")
@_now_option
@_json_option
@click.pass_obj
def stop(cli: CliContext, now: bool, as_json: bool) -> None:
    """Stop the server. Running turns end first."""
    running = _find(cli.settings)
    if running is not None:
        asyncio.run(_stop(running, now=now, quiet=as_json or cli.json))
    if as_json or cli.json:
        click.echo(json.dumps({"stopped": running is not None, "pid": running.pid if running else None}))
    else:
        click.echo(f"✓ The server at {running.address} has stopped." if running else "No server runs.")


@server.command("restart")
@_now_option
@_json_option
@click.pass_obj
def restart(cli: CliContext, now: bool, as_json: bool) -> None:
    """Start the server again, as it was started, with the program and settings as they are now."""
    running = _find(cli.settings)
    if running is None:
        raise ServerUnreachable("No server runs.", hint="`sojourn serve` starts one.")
    asyncio.run(_stop(running, now=now, restart=True, quiet=as_json or cli.json))
    new = _wait_for_next(cli.settings, running)
    status = _ask_status(new)
    said = f"✓ The server runs again at {new.address} (pid {new.pid}, version {new.version})."
    click.echo(json.dumps({"running": True, **status}) if as_json or cli.json else said)


async def _stop(server: Server, *, now: bool, quiet: bool, restart: bool = False) -> None:
    """Waits until no turn runs there, unless `now`, and stops it. Conflict if it does not stop."""
    turns = 0 if now else _ask_status(server)["turns"]
    if turns and not quiet:
        click.echo(f"… waiting for {turns} running turn{'s' if turns > 1 else ''}; --now interrupts.")
    while turns:
        await asyncio.sleep(_POLL_SECONDS)
        turns = _ask_status(server)["turns"] if is_serving(server) else 0
    if not await ask_to_stop(server, restart=restart, now=now, seconds=STOP_SECONDS):
        raise Conflict(f"The server (pid {server.pid}) does not stop.", hint=f"`kill {server.pid}` ends it.")


def _find(settings: Settings) -> Server | None:
    found = read_server_file(settings.home)
    return found if found is not None and is_serving(found) else None


def _ask_status(server: Server) -> dict[str, Any]:
    try:
        found: dict[str, Any] = request_json(server, "GET", "/api/server", timeout=_STATUS_SECONDS)
        return found | {"turns": int(found["turns"])}
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerUnreachable(
            f"The server at {server.address} (pid {server.pid}) does not say how it is.",
            hint=f"It may be of an older version: `kill {server.pid}` ends it.",
        ) from error


def _describe(status: dict[str, Any], port: int) -> list[str]:
    lines = [f"A server runs at {status['address']} (pid {status['pid']}, version {status['version']})."]
    started, turns = datetime.fromisoformat(str(status["started_at"])), int(status["turns"])
    running = f"{pluralize(turns, 'turn')} {'runs' if turns == 1 else 'run'}" if turns else "no turn runs"
    lines.append(f"Started {format_time(started.timestamp())}; {running} in it.")
    if status["until_idle"]:
        lines.append("`sojourn chat` started it; it stops when nobody needs it. `sojourn serve` takes its place.")
    if port and not str(status["address"]).endswith(f":{port}"):
        lines.append(f"The settings say port {port}: another program had it, or it was started with another one.")
    return lines


def _wait_for_next(settings: Settings, old: Server) -> Server:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        found = _find(settings)
        if found is not None and found.started_at != old.started_at:
            return found
        time.sleep(_POLL_SECONDS)
    raise ServerUnreachable("The server did not come back.", hint="Its log is in `logs` of the home.")
