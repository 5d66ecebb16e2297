"""`sojourn serve`: the HTTP API, the dashboard and the gateway in one process."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from sojourn.http import server
from sojourn.ports.cli import CliContext


@click.command()
@click.option("--host", metavar="ADDRESS", help="Where to listen (SOJOURN_HOST; 127.0.0.1).")
@click.option("--port", metavar="NUMBER", help="0 takes a free one (SOJOURN_PORT; 8790).")
@click.option("--json", "as_json", is_flag=True, help="Print what is ready as JSON, for scripts.")
@click.option("--no-gateway", is_flag=True, help="Leave chat networks alone (gateway.embedded).")
@click.option("--until-idle", is_flag=True, hidden=True)  # what `sojourn chat` starts for itself
@click.pass_obj
def serve(
    given: CliContext, host: str | None, port: str | None, as_json: bool, no_gateway: bool, until_idle: bool
) -> None:
    """Serve your sessions over HTTP, until stopped.

    Everything but /healthz needs the token that is printed at start: Authorization: Bearer TOKEN.
    It is also in server.json in the home. SOJOURN_TOKEN sets one of your own.
    """
    flags = {"server.host": host, "server.port": port}
    given.flags.update({name: value for name, value in flags.items() if value is not None})
    if no_gateway:
        given.flags["gateway.embedded"] = False
    if until_idle:  # one that comes and goes holds no line to a network that needs it all the time
        given.flags["gateway.platforms"] = "local"
    given.json = given.json or as_json
    told = _briefly if until_idle else _json if given.json else _told
    given.run(lambda kit: server.serve(kit, told, until_idle=until_idle))


def _briefly(ready: Any) -> None:
    """For a log, where no token belongs."""
    click.echo(f"ready {ready.said.address}")


def _json(ready: Any) -> None:
    said = ready.said
    shown = {"address": said.address, "pid": said.pid, "started_at": said.started_at, "version": said.version}
    click.echo(json.dumps(shown if ready.own_token else {**shown, "token": said.token}))
    sys.stdout.flush()


def _told(ready: Any) -> None:
    said = ready.said
    click.echo(f"ready {said.address}")
    click.echo("token is the one you set" if ready.own_token else f"token {said.token}")
    if sys.stdout.isatty():
        token = "$SOJOURN_TOKEN" if ready.own_token else said.token
        click.echo(f'\n  curl -H "Authorization: Bearer {token}" {said.address}/api/sessions\n\nCtrl-C stops it.')
    if ready.warning:
        click.echo(f"! Others cannot find this server: {ready.warning}", err=True)
    sys.stdout.flush()
