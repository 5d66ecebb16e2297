"""`sojourn dashboard`: `serve`, and the browser opened at a link that works once."""

from __future__ import annotations

import json
import sys
import webbrowser
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import click

from sojourn.core.errors import ServerUnreachable
from sojourn.http import server_file
from sojourn.http.server import serve
from sojourn.http.server_file import Announcement
from sojourn.ports.app import AppContext
from sojourn.ports.cli import CliContext

_PATIENCE = 5.0


@click.command()
@click.option("--host", metavar="ADDRESS", help="Where to listen (SOJOURN_HOST; 127.0.0.1).")
@click.option("--port", metavar="NUMBER", help="0 takes a free one (SOJOURN_PORT; 8790).")
@click.option("--no-open", is_flag=True, help="Only print the link.")
@click.pass_obj
def dashboard(given: CliContext, host: str | None, port: str | None, no_open: bool) -> None:
    """Serve your sessions, and open them in a browser.

    The link that is printed works once, within an hour. Where a server of this home runs already, it is asked for a
    new link, and nothing else is started.
    """
    flags = {"server.host": host, "server.port": port}
    given.flags.update({name: value for name, value in flags.items() if value is not None})
    given.run(lambda kit: _open(kit, no_open=no_open))


async def _open(kit: AppContext, *, no_open: bool) -> None:
    other = server_file.read(kit.settings.home)
    if other is not None and server_file.is_serving(other):
        return _show(other.address, _link_of(other), no_open=no_open)

    def told(ready: Any) -> None:
        _show(ready.said.address, ready.link, no_open=no_open)
        if sys.stdout.isatty():
            click.echo("\nCtrl-C stops it.")

    await serve(kit, told)


def _show(address: str, link: str, *, no_open: bool) -> None:
    click.echo(f"ready {address}")
    click.echo(f"open {link}")
    sys.stdout.flush()
    if not no_open:
        _browse(link)


def _browse(link: str) -> None:
    """Opens a window if there is a browser with windows. One inside the terminal would take it over."""
    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(found, webbrowser.GenericBrowser) or isinstance(found, webbrowser.BackgroundBrowser):
        found.open(link)


def _link_of(said: Announcement) -> str:
    """A new link from the server that runs."""
    place = urlsplit(said.address)
    line = HTTPConnection(place.hostname or "", place.port, timeout=_PATIENCE)
    try:
        line.request("POST", "/api/links", headers={"Authorization": f"Bearer {said.token}", "Content-Length": "0"})
        answer = line.getresponse()
        path = json.loads(answer.read())["path"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        raise ServerUnreachable(
            f"The server at {said.address} gave no link.", hint=f"It may be of an older version: `kill {said.pid}`."
        ) from error
    finally:
        line.close()
    return f"{said.address}{path}"
