"""Starting a server for a home that has none: on its own, so that a turn outlives the terminal that began it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

from sojourn.client.discovery import Server, find_server
from sojourn.client.remote import RemoteService
from sojourn.core.errors import ServerUnreachable
from sojourn.core.settings import SETTINGS_BY_NAME, Secret, Settings
from sojourn.processes import start_detached

try:
    import fcntl as _fcntl
except ImportError:  # Windows: two that start at once may both win, and one stops when it is idle
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

START_SECONDS = 30.0  # seconds a server may take to be ready
_POLL_SECONDS = 0.05
_LOG, _MOST = "serve.log", 1_000_000  # bytes; a longer log begins anew


async def connect(settings: Settings) -> RemoteService:
    """The service of this home, wherever it runs. When its server has gone to rest, the next word wakes another."""
    return RemoteService(await ensure_server(settings), lambda: ensure_server(settings))


async def ensure_server(settings: Settings, *, deadline: float = START_SECONDS) -> Server:
    """The server of this home; started if there is none. It stops by itself when nobody needs it."""
    if (found := await find_server(settings.home)) is not None:
        return found
    async with _hold_start_lock(settings.home, deadline):
        return await find_server(settings.home) or await _start(settings, deadline)


@asynccontextmanager
async def _hold_start_lock(home: Path, deadline: float) -> AsyncIterator[None]:
    """Two who find no server at once start one, not two."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        guard = os.open(home / "server.lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise ServerUnreachable(
            f"No server can be started for {home}: {error.strerror}.", hint="Choose a home you may write to."
        ) from error
    try:
        until = time.monotonic() + deadline
        while fcntl is not None and not _try_lock(guard) and time.monotonic() < until:  # noqa: ASYNC110  others' lock
            await asyncio.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(guard)


def _try_lock(guard: int) -> bool:
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _start(settings: Settings, deadline: float) -> Server:
    log = _prepare_log(settings.home)
    begin = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        process = _launch(settings, out)
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        if (found := await find_server(settings.home)) is not None:
            process.returncode = process.poll() or 0  # it is on its own now, and nobody waits for it
            return found
        if process.poll() is not None:
            raise ServerUnreachable(
                f"The server could not be started: {_read_log_tail(log, begin) or f'it ended with {process.returncode}'}",
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
    """In a session of its own, away from the terminal. What flags said goes on as variables: `ps` shows none."""
    said = {
        name: settings[name]
        for name, origin in settings.origins.items()
        if origin == "flag" and name in SETTINGS_BY_NAME
    }
    flags = {SETTINGS_BY_NAME[name].variable: _to_variable(value) for name, value in said.items()}
    serve = ["serve", "--host", "127.0.0.1", "--port", "0", "--until-idle"]
    argv = [sys.executable, "-m", "sojourn", "--home", str(settings.home), *serve]
    return start_detached(argv, cwd=settings.home, env={**os.environ, **flags}, output=out)


def _to_variable(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _prepare_log(home: Path) -> Path:
    """Private, and never endless."""
    folder = home / "logs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / _LOG
    os.close(os.open(log, os.O_CREAT | os.O_WRONLY, 0o600))
    if log.stat().st_size > _MOST:
        log.write_bytes(b"")
    return log


def _read_log_tail(log: Path, begin: int) -> str:
    said = log.read_bytes()[begin:].decode("utf-8", "replace").strip().splitlines()
    return " ".join(line.strip() for line in said[-3:])
