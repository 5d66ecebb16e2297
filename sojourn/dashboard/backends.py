"""Backend of a dashboard plugin: starts its program on first use, and again after a pause when it fails."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import httpx2

from sojourn.core.errors import BadInput, PluginDown, PluginTimeout, StoreReadOnly
from sojourn.core.settings import Settings
from sojourn.dashboard.plugin_main import RAISED_HEADER, PluginArguments
from sojourn.dashboard.plugin_process import PluginProcess, start_plugin
from sojourn.dashboard_plugins.manifest import Manifest

MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_REQUEST_COUNT = 16
START_SECONDS = 20.0
_PROBE_SECONDS = 2.0  # seconds in which a program that is merely busy answers a question that costs nothing
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS, _STEADY_SECONDS = 0.5, 60.0, 60.0
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRequest:
    """A request as it is passed on."""

    method: str
    target: str  # path and query, as they came
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendResponse:
    status: int
    headers: Mapping[str, str]
    body: bytes


class Backend:
    """The program of one plugin: one process at a time."""

    def __init__(self, manifest: Manifest, place: Path, settings: Settings) -> None:
        self.manifest, self.place, self._settings = manifest, place, settings
        self.stamp = fingerprint(manifest, place)
        self._process: PluginProcess | None = None
        self._starting = asyncio.Lock()
        self._room = asyncio.Semaphore(MAX_REQUEST_COUNT)
        self._failures, self._not_before, self._started_at = 0, 0.0, 0.0
        self._probing: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        self.problem = ""  # why it is down

    async def ask(self, request: BackendRequest) -> BackendResponse:
        """Passes a request on; ends in bounded time, whatever the program does. PluginDown, PluginTimeout."""
        seconds = float(self._settings["dashboard.plugin_seconds"])
        process = await self._ensure_running()
        try:
            async with asyncio.timeout(seconds), self._room:
                answer = await self._exchange(process, request)
        except TimeoutError as error:
            self._start_probe(process)
            raise PluginTimeout(
                f'The plugin "{self.manifest.name}" did not answer within {seconds:g} seconds.',
                hint="Try again. dashboard.plugin_seconds sets how long it may take.",
            ) from error
        except httpx2.TransportError as error:
            await self._record_end(process, "")
            raise self._down_error() from error
        if answer.headers.get(RAISED_HEADER):
            raise self._raised_error(answer)
        return answer

    async def _exchange(self, process: PluginProcess, request: BackendRequest) -> BackendResponse:
        passed_on = process.http.build_request(
            request.method, request.target, headers=request.headers, content=request.body
        )
        response = await process.http.send(passed_on, stream=True)
        body = bytearray()
        try:
            async for part in response.aiter_raw():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise PluginDown(
                        f'The plugin "{self.manifest.name}" answered with more than {MAX_ANSWER_BYTES} bytes.',
                        hint="Ask it for less at once.",
                    )
        finally:
            await response.aclose()
        return BackendResponse(status=response.status_code, headers=response.headers, body=bytes(body))

    async def _ensure_running(self) -> PluginProcess:
        async with self._starting:
            if self._process is not None and self._process.is_running:
                return self._process
            if self._process is not None:
                await self._record_end(self._process, "")
            if self._over.is_set() or time.monotonic() < self._not_before:
                raise self._down_error()
            needs = frozenset(self.manifest.needs)
            try:
                self._process = process = await start_plugin(self._build_arguments(), needs, self._settings)
            except PluginDown as error:
                self.problem = str(error)
                raise
            self._started_at = time.monotonic()
            if self._over.is_set():  # it was turned off meanwhile
                await self.end()
            elif await process.answers_within(START_SECONDS):
                self.problem = ""
                return process
            reason = await process.describe_end()  # waits a moment for its end
            if process.is_running:
                reason = f"it did not start within {START_SECONDS:g} seconds"
            await self._record_end(process, reason)
            raise self._down_error()

    def _build_arguments(self) -> PluginArguments:
        data = prepare_data_folder(self._settings.home, self.manifest.name, self.place)
        return PluginArguments(
            name=self.manifest.name,
            folder=str(self.place),
            api=self.manifest.api,
            data=str(data),
            socket=-1,
            memory_mb=int(self._settings["dashboard.plugin_memory_mb"]),
        )

    async def _record_end(self, process: PluginProcess, why: str) -> None:
        """Ends a process that failed; the next one starts after a pause that doubles."""
        if self._process is not process:
            return  # another request has recorded it
        self._process = None
        self._failures = 1 if time.monotonic() - self._started_at > _STEADY_SECONDS else self._failures + 1
        pause = min(_FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1), _MAX_PAUSE_SECONDS)
        self._not_before = time.monotonic() + pause
        self.problem = why or await process.describe_end()
        logger.warning("plugin %s is down, again in %.1f s: %s", self.manifest.name, pause, self.problem)
        await process.end()

    def _down_error(self) -> PluginDown:
        wait = max(0.0, self._not_before - time.monotonic())
        return PluginDown(
            f'The plugin "{self.manifest.name}" is down: {self.problem}.',
            hint=f"It is tried again in {wait:.0f} seconds.",
        )

    def _raised_error(self, answer: BackendResponse) -> PluginDown:
        try:
            why = str(json.loads(answer.body)["raised"])
        except (ValueError, KeyError, TypeError):
            why = "an exception"
        return PluginDown(f'The plugin "{self.manifest.name}" raised {why}.', hint="Report it to its author.")

    def _start_probe(self, process: PluginProcess) -> None:
        """One slow answer is no reason to end it; a program that answers nothing at all is."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe(process))

    async def _probe(self, process: PluginProcess) -> None:
        if process.is_running and not await process.answers_within(_PROBE_SECONDS):
            await self._record_end(process, "it hangs")

    async def end(self) -> None:
        self._over.set()
        if self._probing is not None:
            self._probing.cancel()
        process, self._process = self._process, None
        self.problem = "it was turned off"
        if process is not None:
            await process.end()


def prepare_data_folder(home: Path, name: str, place: Path) -> Path:
    """The folder `<home>/plugin-data/<name>`, outside of the plugin's own, whose author could make it a link. Data that
    an older version kept inside moves along. StoreReadOnly."""
    data, old = home / "plugin-data" / name, place.parent / "data"
    try:
        data.parent.mkdir(mode=0o700, exist_ok=True)
        if old.is_dir() and not old.is_symlink() and not data.exists():
            shutil.move(old, data)
        data.mkdir(mode=0o700, exist_ok=True)
        if data.is_symlink() or data.parent.is_symlink():
            raise StoreReadOnly(f"{data} is a link.", hint="Replace it with the folder itself.")
    except OSError as error:
        raise StoreReadOnly(
            f"{data} cannot be made: {error.strerror}.", hint="A plugin keeps its data there."
        ) from error
    return data.resolve()


def fingerprint(manifest: Manifest, place: Path) -> tuple[Manifest, int]:
    """What the program was made from; when that changes, it is another program."""
    try:
        return manifest, (place / manifest.api).stat().st_mtime_ns
    except OSError:
        return manifest, 0


def require_plain_path(target: str) -> str:
    """A path that leads nowhere else. BadInput."""
    if any(part in (".", "..") for part in unquote(target.split("?")[0]).replace("\\", "/").split("/")):
        raise BadInput("A path with . or .. leads nowhere.", hint="Ask for the plugin's own routes.")
    return target
