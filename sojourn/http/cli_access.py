"""`sojourn token` and `sojourn browsers`: who may come in over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from sojourn.core.errors import BadConfig, BadInput, Conflict, ServerUnreachable, StoreReadOnly
from sojourn.core.settings import Settings
from sojourn.http.access_token import build_token_mark
from sojourn.http.browser_sessions import BrowserSession, BrowserSessions
from sojourn.http.token_file import FILE_NAME, keep_token, read_token, rotate_token
from sojourn.ports.app import HasStore
from sojourn.ports.cli import CliContext
from sojourn.server_file import Server, is_serving, read_server_file
from sojourn.text.formatting import format_time, to_iso

_IN_FORCE_SECONDS, _POLL_SECONDS = 10.0, 0.1  # how long a running server may take to use a new token
_json_option = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
def token() -> None:
    """The access token: show it, or replace it.

    It is made once and kept in the file `token` of the home, which only you can read.
    """


@token.command("show")
@_json_option
@click.pass_obj
def show_token(cli: CliContext, as_json: bool) -> None:
    """Print the token."""
    found = _find_token(cli.settings)
    click.echo(json.dumps({"token": found}) if as_json or cli.json else found)


@token.command("rotate")
@_json_option
@click.pass_obj
def rotate(cli: CliContext, as_json: bool) -> None:
    """Replace the token by a new one.

    At once, in a running server too: every browser is signed out, open streams end, and programs need the new token.
    """
    settings = cli.settings
    running = _find_running(settings)
    if settings["server.token"].reveal() or (running is not None and _has_own_token(settings, running)):
        raise Conflict(
            "The token is one that you set yourself, so there is nothing to rotate.",
            hint="Change SOJOURN_TOKEN, or server.token in config.toml, and start the server again.",
        )
    try:
        new = rotate_token(settings.home)
    except OSError as error:
        raise StoreReadOnly(
            f"{settings.home / FILE_NAME} cannot be written: {error.strerror}.", hint="Check its permissions."
        ) from error
    if running is not None:
        _wait_until_in_force(settings, running, new)
    said = "✓ There is a new token. Browsers sign in again with `sojourn dashboard`; `sojourn token show` prints it."
    click.echo(json.dumps({"rotated": True}) if as_json or cli.json else said)


def _has_own_token(settings: Settings, running: Server) -> bool:
    """Whether the running server was given a token that is not the kept one."""
    try:
        return read_token(settings.home) not in (None, running.token)
    except BadConfig:  # the file is broken; a new token mends it
        return False


def _wait_until_in_force(settings: Settings, old: Server, new: str) -> None:
    until = time.monotonic() + _IN_FORCE_SECONDS
    while time.monotonic() < until:
        running = read_server_file(settings.home)
        if running is None or running.token == new:
            return
        time.sleep(_POLL_SECONDS)
    raise ServerUnreachable(
        f"The new token is kept, but the server at {old.address} still uses the old one.",
        hint="Stop it with `sojourn server stop`; the next one uses the new token.",
    )


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def browsers(ctx: click.Context, as_json: bool) -> None:
    """The browsers that are signed in to the dashboard."""
    ctx.obj.json = ctx.obj.json or as_json
    if ctx.invoked_subcommand is None:
        cli: CliContext = ctx.obj
        found = cli.run(lambda app: _open_sessions(app).list_sessions())
        click.echo(json.dumps([_encode(one) for one in found]) if cli.json else _render(found))


@browsers.command("sign-out")
@click.argument("id", required=False)
@click.option("--all", "everyone", is_flag=True, help="Every browser.")
@_json_option
@click.pass_obj
def sign_out(cli: CliContext, id: str | None, everyone: bool, as_json: bool) -> None:
    """Sign a browser out, at once. ID is what `sojourn browsers` shows, or its beginning."""
    if bool(id) == everyone:
        raise BadInput("Which browser?", hint="Give the id that `sojourn browsers` shows, or --all.")
    count = cli.run(lambda app: _sign_out(_open_sessions(app), id or ""))
    said = "✓ Signed out." if count == 1 else f"✓ {count} browsers were signed out."
    click.echo(json.dumps({"signed_out": count}) if as_json or cli.json else said)


async def _sign_out(sessions: BrowserSessions, id: str) -> int:
    if not id:
        return await sessions.sign_out_all()
    await sessions.sign_out(id)
    return 1


def _open_sessions(app: HasStore) -> BrowserSessions:
    mark = build_token_mark(_find_token(app.settings))
    return BrowserSessions(lambda: app.store, lambda: mark)


def _find_token(settings: Settings) -> str:
    """The token in force: of the running server, else from the settings, else the one that is kept."""
    running = _find_running(settings)
    return running.token if running is not None else settings["server.token"].reveal() or _find_kept(settings)


def _find_running(settings: Settings) -> Server | None:
    running = read_server_file(settings.home)
    return running if running is not None and is_serving(running) else None


def _find_kept(settings: Settings) -> str:
    try:
        return keep_token(settings.home)
    except OSError as error:
        raise StoreReadOnly(
            f"No token can be kept in {settings.home}: {error.strerror}.", hint="Choose a home you may write to."
        ) from error


def _encode(one: BrowserSession) -> dict[str, Any]:
    times = {name: to_iso(getattr(one, name)) for name in ("since", "last_seen", "until")}
    return asdict(one) | times


def _render(found: Sequence[BrowserSession]) -> str:
    if not found:
        return "No browser is signed in. `sojourn dashboard` opens one."
    lines = [
        f"{one.id}  {one.browser}, from {one.address}, since {format_time(one.since)}, "
        f"last seen {format_time(one.last_seen)}"
        for one in found
    ]
    return "\n".join([*lines, "", "`sojourn browsers sign-out ID` signs one out."])
