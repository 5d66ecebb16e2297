"""`sojourn serve` and `sojourn dashboard`: start the server; `dashboard` also opens a browser."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from collections.abc import Callable, Coroutine
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

import click

from sojourn.core.errors import ServerUnreachable
from sojourn.http.phone_address import describe_ways, parse_public_url
from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext
from sojourn.server_file import Server, is_serving, read_server_file, request_json

if TYPE_CHECKING:
    from sojourn.http.openapi_models import import_fastapi  # noqa: F401
    from sojourn.http.server import ServerReady
    from sojourn.http.server import serve as run_server  # noqa: F401
    from sojourn.text.qr_code import render_code  # noqa: F401

_LINK_TIMEOUT_SECONDS = 5.0
# Lazy: `--help` needs no web framework.
IMPORT_FASTAPI: Lazy[Callable[[], None]] = Lazy("sojourn.http.openapi_models:import_fastapi")
SERVE: Lazy[Callable[..., Coroutine[Any, Any, bool]]] = Lazy("sojourn.http.server:serve")
RENDER_CODE: Lazy[Callable[[str], str]] = Lazy("sojourn.text.qr_code:render_code")
_host_option = click.option("--host", metavar="ADDRESS", help="Where to listen (SOJOURN_HOST; 127.0.0.1).")
_port_option = click.option("--port", metavar="NUMBER", help="0 takes a free one (SOJOURN_PORT; 8790).")


@click.command()
@_host_option
@_port_option
@click.option("--json", "as_json", is_flag=True, help="Print what is ready as JSON, for scripts.")
@click.option("--no-gateway", is_flag=True, help="Leave chat networks alone (gateway.embedded).")
@click.option("--no-token", is_flag=True, help="Do not print the token, for logs.")
@click.option("--until-idle", is_flag=True, hidden=True)  # `sojourn chat` starts its server so
@click.pass_obj
def serve(
    cli: CliContext,
    host: str | None,
    port: str | None,
    as_json: bool,
    no_gateway: bool,
    no_token: bool,
    until_idle: bool,
) -> None:
    """Serve your sessions over HTTP, until stopped.

    Everything but /healthz needs the token that is printed at start: Authorization: Bearer TOKEN.
    It is made once and kept in the home; `sojourn token` shows and rotates it. SOJOURN_TOKEN sets one of your own.
    """
    _set_address(cli, host, port)
    if no_gateway:
        cli.flags["gateway.embedded"] = False
    if until_idle:  # a network that needs a steady connection is not served by a server that stops when idle
        cli.flags["gateway.platforms"] = "local"
    cli.json = cli.json or as_json
    no_token = no_token or until_idle or _is_journal()
    report = _print_address if no_token else _print_json if cli.json else _print_ready
    if cli.run(lambda app: _serve(app, report, until_idle=until_idle)):
        _start_again()


async def _serve(app: AppContext, report: Callable[[ServerReady], None], *, until_idle: bool = False) -> bool:
    IMPORT_FASTAPI.load()()
    return await SERVE.load()(app, report, until_idle=until_idle)


@click.command()
@_host_option
@_port_option
@click.option("--no-open", is_flag=True, help="Only print the link.")
@click.option("--phone", is_flag=True, help="Show a QR code that opens it on a phone, at a secure address.")
@click.pass_obj
def dashboard(cli: CliContext, host: str | None, port: str | None, no_open: bool, phone: bool) -> None:
    """Serve your sessions, and open them in a browser.

    The printed link works once, within an hour. If a server of this home is already running, that server makes a new
    link and no other is started.
    """
    _set_address(cli, host, port)
    public = parse_public_url(str(cli.settings["server.public_url"])) if phone else ""
    if phone and not public:
        click.echo(describe_ways(int(cli.settings["server.port"])))
        return
    if cli.run(lambda app: _open_dashboard(app, public=public, no_open=no_open or phone)):
        _start_again(*([] if no_open else ["--no-open"]))


def _start_again(*flags: str) -> None:
    """Replaces this process by a new one with the same arguments; the program on disk may be newer."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], *flags])


def _set_address(cli: CliContext, host: str | None, port: str | None) -> None:
    flags = {"server.host": host, "server.port": port}
    cli.flags.update({name: value for name, value in flags.items() if value is not None})


def _is_journal() -> bool:
    """Whether systemd takes down what is printed here."""
    device, _, inode = os.environ.get("JOURNAL_STREAM", "").partition(":")
    try:
        found = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    return (str(found.st_dev), str(found.st_ino)) == (device, inode)


def _print_address(ready: ServerReady) -> None:
    """For a log, where no token belongs."""
    click.echo(f"ready {ready.server.address}")
    sys.stdout.flush()


def _print_json(ready: ServerReady) -> None:
    server = ready.server
    values = {"address": server.address, "pid": server.pid, "started_at": server.started_at, "version": server.version}
    click.echo(json.dumps(values if ready.own_token else {**values, "token": server.token}))
    sys.stdout.flush()


def _print_ready(ready: ServerReady) -> None:
    server = ready.server
    click.echo(f"ready {server.address}")
    click.echo("token is the one you set" if ready.own_token else f"token {server.token}")
    if sys.stdout.isatty():
        token = "$SOJOURN_TOKEN" if ready.own_token else server.token
        click.echo(f'\n  curl -H "Authorization: Bearer {token}" {server.address}/api/sessions\n\nCtrl-C stops it.')
    if ready.warning:
        click.echo(f"! Others cannot find this server: {ready.warning}", err=True)
    sys.stdout.flush()


async def _open_dashboard(app: AppContext, *, public: str, no_open: bool) -> bool:
    """Returns whether the server that it started is to start again."""
    running = read_server_file(app.settings.home)
    if running is not None and is_serving(running):
        _show_link(running.address, _request_link(running), public=public, no_open=no_open)
        return False

    def report(ready: ServerReady) -> None:
        _show_link(ready.server.address, ready.link, public=public, no_open=no_open)
        if sys.stdout.isatty():
            click.echo("\nCtrl-C stops it.")

    return await _serve(app, report)


def _show_link(address: str, link: str, *, public: str, no_open: bool) -> None:
    """`public` is the address for phones; the link then leads there."""
    link = f"{public}{link.removeprefix(address)}" if public else link
    click.echo(f"ready {address}")
    click.echo(f"open {link}")
    if public:
        click.echo(f"{RENDER_CODE.load()(link)}\nScan it with the phone's camera. It works once, within an hour.")
    sys.stdout.flush()
    if not no_open:
        _open_browser(link)


def _open_browser(link: str) -> None:
    """Opens a graphical browser if there is one. A browser inside the terminal would take the terminal over."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(browser, webbrowser.GenericBrowser) or isinstance(browser, webbrowser.BackgroundBrowser):
        browser.open(link)


def _request_link(server: Server) -> str:
    """Asks the running server for a new one-time link. ServerUnreachable."""
    try:
        path = request_json(server, "POST", "/api/links", timeout=_LINK_TIMEOUT_SECONDS)["path"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerUnreachable(
            f"The server at {server.address} did not make a link.",
            hint="It may be an older version: stop it with `sojourn server stop`.",
        ) from error
    return f"{server.address}{path}"
