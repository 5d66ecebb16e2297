"""One life of a plugin's program: started, listened to, asked, ended. Why it is started at all: `backends.py`."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import httpx2

from sojourn.core.errors import PluginDown
from sojourn.core.settings import CHILD_VARIABLES, Settings
from sojourn.dashboard.plugin_main import ALIVE, Given

KEEPER = Path(__file__).with_name("supervisor.py")
MOST_WORDS = 16 * 1024  # bytes of its last words that are remembered
_SIP, _PAUSE = 64 * 1024, 0.05  # who floods its output is read no faster than a sip per pause
_END = 3.0  # seconds an end may take
_NO_KEEPING = httpx2.Limits(max_keepalive_connections=0)  # a program that raised hangs up: a kept line would be dead


class Running:
    """A keeper with the program below it, and a socket only we know."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path, path: str) -> None:
        self._process, self._folder = process, folder
        self._said = bytearray()
        transport = httpx2.AsyncHTTPTransport(uds=path, retries=0, limits=_NO_KEEPING)
        # The times are the caller's affair. Nothing of the machine's proxies or certificates matters here.
        self.http = httpx2.AsyncClient(transport=transport, base_url="http://plugin", timeout=None, trust_env=False)
        self._listening = asyncio.create_task(self._listen())

    @property
    def lives(self) -> bool:
        return self._process.returncode is None

    async def _listen(self) -> None:
        assert self._process.stdout
        while said := await self._process.stdout.read(_SIP):
            self._said += said
            del self._said[:-MOST_WORDS]
            await asyncio.sleep(_PAUSE)

    async def begun(self, seconds: float) -> bool:
        """Whether it answers, after at most that long."""
        try:
            async with asyncio.timeout(seconds):
                return bool((await self.http.get(ALIVE)).status_code == 200)
        except (httpx2.TransportError, TimeoutError):
            return False

    async def last_words(self) -> str:
        """Why it ended, as far as it said so."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await self._process.wait()
                await asyncio.shield(self._listening)
        said = self._said.decode("utf-8", "replace").strip()
        code = self._process.returncode
        ended = "" if code is None else f" (exit code {code})"
        return f"{said.splitlines()[-1][:500] if said else 'it said nothing'}{ended}"

    async def end(self) -> None:
        """The keeper sees its input end, and takes the program and all it started along."""
        if self._process.stdin:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(_END):
                await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._listening.cancel()
        with suppress(asyncio.CancelledError):
            await self._listening
        await self.http.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


async def start(given: Given, settings: Settings) -> Running:
    """Begins a life. `given.socket` is filled in here. PluginDown when there is no process to be had."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-"))  # short, whatever the home is called: a socket's name must be
    path = str(folder / "s")
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen(64)
            process = await _spawn(given, settings, listening.fileno(), folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise PluginDown(
            f'The plugin "{given.name}" cannot be started: {error.strerror}.', hint="Look at the machine's limits."
        ) from error
    return Running(process, folder, path)


async def _spawn(given: Given, settings: Settings, listening: int, folder: Path) -> asyncio.subprocess.Process:
    told = json.dumps({**asdict(given), "socket": listening})
    program = [sys.executable, "-I", "-X", "utf8", "-m", "sojourn.dashboard.plugin_main", told]
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(KEEPER),
        str(listening),
        str(folder),
        *program,
        cwd=given.folder,
        env=_environment(given, settings),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=(listening,),
        start_new_session=True,
    )


def _environment(given: Given, settings: Settings) -> Mapping[str, str]:
    """What every program needs, and nothing that could be a secret."""
    seen = {name: value for name, value in settings.for_children.items() if name in CHILD_VARIABLES}
    return {
        "PATH": os.defpath,
        **seen,
        "TMPDIR": given.data,
        "SOJOURN_PLUGIN_NAME": given.name,
        "SOJOURN_PLUGIN_DATA": given.data,
        "MALLOC_ARENA_MAX": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
