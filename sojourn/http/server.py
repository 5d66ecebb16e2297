"""Runs the application: opens the socket, reports when it answers, and stops cleanly within two seconds."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import gc
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import uvicorn
from fastapi import FastAPI

from sojourn import __version__
from sojourn.core.errors import BadConfig, BadInput, Conflict, NotAllowed, ServerUnreachable, SojournError
from sojourn.core.settings import Settings
from sojourn.http import login
from sojourn.http.app import make_app
from sojourn.http.host_names import is_loopback
from sojourn.http.shutdown import Shutdown
from sojourn.http.sse import Streams
from sojourn.http.token_file import keep_token, read_token
from sojourn.http.trash import empty_regularly
from sojourn.http_limits import limited_config
from sojourn.ports.app import AgentContext, AppContext
from sojourn.server_file import (
    FILE_NAME,
    STOP_SECONDS,
    Server,
    acquire_start_lock,
    ask_to_stop,
    hash_overrides,
    is_serving,
    read_server_file,
    remove_server_file,
    write_server_file,
)

_SWITCH_SECONDS = 0.001  # the thread switch interval: the writer thread must not starve
_M_ARENA_MAX = -8  # of mallopt(3)
_COLLECTOR_THRESHOLDS = 10_000, 20, 20  # new objects, young and middle-aged rounds: requests leave little behind
_SHUTDOWN_SECONDS = 1  # for requests in progress, after the signal to stop
_TOKEN_POLL_SECONDS = 0.5  # between two looks whether the token was rotated
MIN_OPEN_TOKEN_CHARS = 20  # of a token that other machines can try
logger = logging.getLogger(__name__)
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReady:
    """What `report` prints once the server answers."""

    server: Server
    own_token: bool  # the token comes from the settings
    warning: str = ""
    link: str = ""  # opens the dashboard, once


async def serve(context: AppContext, report: Callable[[ServerReady], None], *, until_idle: bool = False) -> bool:
    """Serves until SIGTERM or SIGINT, until it is asked to stop, or until it is idle. Calls `report` when the server
    answers. A server that a client has started makes room for this one. Returns whether it is to start again."""
    with ExitStack() as lock:
        if not until_idle:  # the client that starts such a server holds the lock itself
            with suppress(ServerUnreachable):  # a home that cannot be written to has no lock
                lock.callback(await acquire_start_lock(context.settings.home, STOP_SECONDS))
            await _take_over(context.settings)

        def report_ready(ready: ServerReady) -> None:
            report(ready)
            lock.close()

        return await _serve(context, report_ready, until_idle=until_idle)


async def _take_over(settings: Settings) -> None:
    """Asks a server to stop that a client has started; its turns go on to their end."""
    running = read_server_file(settings.home)
    if running is not None and running.until_idle:
        await ask_to_stop(running, seconds=STOP_SECONDS)


async def _serve(context: AppContext, report: Callable[[ServerReady], None], *, until_idle: bool = False) -> bool:
    _limit_heaps()
    settings = context.settings
    host, port = str(settings["server.host"]), int(settings["server.port"])
    token, own, warning = _token(settings, host)
    refuse_second(settings)
    with _listen(host, port, or_any=until_idle) as listening:
        app = make_app(context, token=token, host=host)
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.freeze()  # what is loaded by now stays, and need not be looked at again
        gc.set_threshold(*_COLLECTOR_THRESHOLDS)
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
            lifespan="on",
            ws="none",
            proxy_headers=False,
            **limited_config(),
        )
        record = Server(
            address=_address(host, listening),
            token=token,
            pid=os.getpid(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            version=__version__,
            until_idle=until_idle,
            overrides=hash_overrides(settings),
        )
        ready, shutdown = asyncio.Event(), app.state.shutdown
        shutdown.server = record

        def on_ready() -> None:
            link = f"{record.address}{login.PATH}?key={app.state.links.new_key()}"
            report(_announce(settings, record, own_token=own, link=link, warning=warning))
            ready.set()

        server = _Uvicorn(config, app.state.streams, on_ready)
        try:
            with _handle_signals(server):
                async with asyncio.TaskGroup() as tasks:
                    others = [tasks.create_task(_stop_when_asked(server, shutdown))]
                    others.append(tasks.create_task(empty_regularly(context)))
                    if until_idle:
                        others.append(tasks.create_task(_stop_when_idle(server, app, context, ready)))
                    if not own:
                        others.append(tasks.create_task(_follow_token(settings.home, app, record)))
                    await server.serve([listening])
                    for task in others:
                        task.cancel()
        finally:
            remove_server_file(settings.home, replace(record, token=app.state.access.value))
    if shutdown.requested.is_set() and not shutdown.now:
        await shutdown.wait_for_turns(context.store)
    return bool(shutdown.restart)


def _limit_heaps() -> None:
    """Makes all threads share one heap of the C library: of several, each keeps what is free to itself."""
    with suppress(OSError, AttributeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


async def _stop_when_asked(server: uvicorn.Server, shutdown: Shutdown) -> None:
    await shutdown.requested.wait()
    server.should_exit = True


async def _follow_token(home: Path, app: FastAPI, record: Server) -> None:
    """Puts a rotated token in force: what came in with the old one is out at once."""
    while True:
        await asyncio.sleep(_TOKEN_POLL_SECONDS)
        try:
            token = read_token(home)
        except SojournError as error:
            logger.debug("the token stays as it is: %s", error)
            continue
        if token is None or token == app.state.access.value:
            continue
        app.state.access.replace(token)
        app.state.links.clear()
        with suppress(OSError):  # a home that cannot be written to has no server.json, either
            write_server_file(home, replace(record, token=token))
        await app.state.admissions.end_revoked()


async def _stop_when_idle(server: uvicorn.Server, app: FastAPI, context: AgentContext, ready: asyncio.Event) -> None:
    """Stops the server when no client needs it any more."""
    await ready.wait()
    await app.state.activity.wait_until_idle(context, app.state.streams, float(context.settings["server.idle_seconds"]))
    server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Calls `ready` when it answers, and ends open streams when it stops."""

    def __init__(self, config: uvicorn.Config, streams: Streams, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._streams, self._ready = streams, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.close()
        await super().shutdown(sockets)


@contextmanager
def _handle_signals(server: uvicorn.Server) -> Iterator[None]:
    """Replaces uvicorn's handlers: they raise the signal again, but a requested stop is no failure."""

    def stop(sig: int, frame: FrameType | None) -> None:
        server.should_exit = True

    before = {sig: signal.signal(sig, stop) for sig in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _token(settings: Settings, host: str) -> tuple[str, bool, str]:
    """The token, whether it comes from the settings, and a warning when it cannot be kept."""
    own = settings["server.token"].reveal()
    if not own and not is_loopback(host):
        raise NotAllowed(
            f"Other machines can reach {host}, and no token is set.",
            hint="Choose a token and set it as SOJOURN_TOKEN (or server.token in config.toml).",
        )
    if own and not (own.isascii() and own.isprintable() and " " not in own):
        raise BadConfig("server.token has characters no header can carry.", hint="Use letters, digits and signs.")
    if own and len(own) < MIN_OPEN_TOKEN_CHARS and not is_loopback(host):
        raise NotAllowed(
            f"Other machines can reach {host}, and a token of {len(own)} characters can be guessed.",
            hint=f"Set one of at least {MIN_OPEN_TOKEN_CHARS} characters as SOJOURN_TOKEN; "
            "`openssl rand -base64 32` prints a good one.",
        )
    if own:
        return own, True, ""
    try:
        return keep_token(settings.home), False, ""
    except OSError as error:  # it works, with a token that ends with it
        return secrets.token_urlsafe(32), False, f"{settings.home}/token: {error.strerror}."


def refuse_second(settings: Settings) -> None:
    """Conflict when another server of this home is running."""
    running = read_server_file(settings.home)
    if running is not None and is_serving(running):
        raise Conflict(
            f"This home is already served at {running.address} (pid {running.pid}).",
            hint="Use that one, stop it with `sojourn server stop`, or give this one another --home.",
        )


def _listen(host: str, port: int, *, or_any: bool = False) -> socket.socket:
    """Opens the socket. `or_any`: on a free port if another program has this one. Conflict, BadInput, NotAllowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{host!r} is not an address of this machine.", hint="Usual is --host 127.0.0.1.") from error
    family, kind, protocol, _, address = found[0]
    opened = socket.socket(family, kind, protocol)  # without the protocol, Nagle's delay of 40 ms applies
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen()
    except OSError as error:
        opened.close()
        if or_any and error.errno in (errno.EADDRINUSE, errno.EACCES):
            return _listen(host, 0)
        raise _to_listen_error(host, port, error) from error
    return opened


def _to_listen_error(host: str, port: int, error: OSError) -> Exception:
    if error.errno == errno.EADDRINUSE:
        return Conflict(f"Port {port} on {host} is taken by another program.", hint="--port 0 takes a free one.")
    if error.errno == errno.EACCES:
        return NotAllowed(f"Port {port} needs more rights than you have.", hint="Use one above 1023.")
    return BadInput(f"Cannot listen on {host} port {port}: {error.strerror}.", hint="Usual is --host 127.0.0.1.")


def _address(host: str, listening: socket.socket) -> str:
    """The URL for clients on this machine."""
    name = _WILDCARDS.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{listening.getsockname()[1]}"


def _announce(settings: Settings, server: Server, *, own_token: bool, link: str, warning: str = "") -> ServerReady:
    """Writes server.json; when that fails, the server works and says so."""
    try:
        write_server_file(settings.home, server)
    except OSError as error:
        warning = f"{settings.home}/{FILE_NAME}: {error.strerror}."
    return ServerReady(server=server, own_token=own_token, warning=warning, link=link)
