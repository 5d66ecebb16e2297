"""Finds or starts the server of a home. It runs detached, so a turn outlives the terminal that began it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from sojourn import __version__
from sojourn.client.remote import RemoteService
from sojourn.core.errors import BadInput, ServerUnreachable
from sojourn.core.settings import Secret, Settings
from sojourn.processes.supervisor import start_detached
from sojourn.server_file import (
    STOP_SECONDS,
    Server,
    ask_to_stop,
    hash_overrides,
    hold_start_lock,
    is_serving,
    read_server_file,
)
from sojourn.settings.table import SETTINGS_BY_NAME

START_SECONDS = 30.0  # seconds a server may take to be ready
_POLL_SECONDS = 0.05
_MAX_LOG_BYTES = 1_000_000


async def find_server(home: Path) -> Server | None:
    """Returns the running server of this home; a file that a dead server left behind is ignored."""
    server = read_server_file(home)
    return server if server is not None and await asyncio.to_thread(is_serving, server) else None


async def connect(settings: Settings, address: str = "") -> RemoteService:
    """Connects to the server at `address`, or to the one of this home. When that has stopped, the next request starts
    another.

    A server that an older version or another environment has started makes room first; its turns go on to their end.
    """
    if address:
        return await _connect_to(settings, address)
    if _is_unfit(await find_server(settings.home), settings):
        async with hold_start_lock(settings.home, START_SECONDS):
            found = await find_server(settings.home)  # another client may have replaced it meanwhile
            if found is not None and _is_unfit(found, settings) and await ask_to_stop(found, seconds=STOP_SECONDS):
                await _start(settings, START_SECONDS)
    return RemoteService(await ensure_server(settings), lambda: ensure_server(settings))


async def _connect_to(settings: Settings, address: str) -> RemoteService:
    """A server on another machine. It proves that it has the token before the token is sent. BadInput."""
    token = settings["server.token"].reveal()
    if not address.startswith(("http://", "https://")):
        raise BadInput(f"{address} is not an address.", hint="Say one like http://box.local:8790.")
    if not token:
        raise BadInput(
            "There is no token for that server.", hint="Set SOJOURN_TOKEN; `sojourn token show` there has it."
        )
    return RemoteService(Server(address=address.rstrip("/"), token=token))


def _is_unfit(server: Server | None, settings: Settings) -> bool:
    """Whether a client with other settings or another version has started it."""
    if server is None or not server.until_idle:
        return False
    return (server.version, server.overrides) != (__version__, hash_overrides(settings))


async def ensure_server(settings: Settings, *, deadline: float = START_SECONDS) -> Server:
    """Returns the server of this home, starting one if there is none. That one stops when it is idle."""
    if (found := await find_server(settings.home)) is not None:
        return found
    async with hold_start_lock(settings.home, deadline):
        return await find_server(settings.home) or await _start(settings, deadline)


async def _start(settings: Settings, deadline: float) -> Server:
    log = _prepare_log(settings.home)
    begin = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        process = _launch(settings, out)
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        if (found := await find_server(settings.home)) is not None:
            process.returncode = process.poll() or 0  # detached: nobody waits for it
            return found
        if process.poll() is not None:
            why = _read_log_tail(log, begin) or f"it ended with {process.returncode}"
            raise ServerUnreachable(
                f"The server could not be started: {why}",
                hint=f"{log} has more. `sojourn serve` starts it where you can see it.",
            )
        await asyncio.sleep(_POLL_SECONDS)
    process.kill()
    process.wait()
    raise ServerUnreachable(
        f"The server was not ready within {deadline:g} seconds.",
        hint=f"{log} may say why. `sojourn serve` starts it where you can see it.",
    )


def _launch(settings: Settings, out: IO[bytes]) -> subprocess.Popen[bytes]:
    """Starts `sojourn serve` detached from the terminal. Flags are passed as variables, which `ps` does not show."""
    flags = {
        SETTINGS_BY_NAME[name].variable: _to_variable(settings[name])
        for name, origin in settings.origins.items()
        if origin == "flag" and name in SETTINGS_BY_NAME
    }
    serve = ["serve", "--host", "127.0.0.1", "--port", str(settings["server.port"]), "--until-idle"]
    argv = [sys.executable, "-m", "sojourn", "--home", str(settings.home), *serve]
    return start_detached(argv, cwd=settings.home, env={**os.environ, **flags}, output=out)


def _to_variable(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _prepare_log(home: Path) -> Path:
    """Opens the log for its owner only, and empties it when it is too long."""
    folder = home / "logs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / "serve.log"
    os.close(os.open(log, os.O_CREAT | os.O_WRONLY, 0o600))
    if log.stat().st_size > _MAX_LOG_BYTES:
        log.write_bytes(b"")
    return log


def _read_log_tail(log: Path, begin: int) -> str:
    lines = log.read_bytes()[begin:].decode("utf-8", "replace").strip().splitlines()
    return " ".join(line.strip() for line in lines[-3:])
