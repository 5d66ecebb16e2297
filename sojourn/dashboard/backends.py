"""A plugin's backend: its program is started when it is first asked, watched while it answers, and given up for a
while when it fails, longer each time."""

from __future__ import annotations

import asyncio
import json
import logging
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
from sojourn.ports.pages import Manifest

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
    """The program of one plugin, over all its lives."""

    def __init__(self, manifest: Manifest, place: Path, settings: Settings) -> None:
        self.manifest, self.place, self._settings = manifest, place, settings
        self.stamp = fingerprint(manifest, place)
        self._life: PluginProcess | None = None
        self._starting = asyncio.Lock()
        self._room = asyncio.Semaphore(MAX_REQUEST_COUNT)
        self._failures, self._not_before, self._begun = 0, 0.0, 0.0
        self._probing: asyncio.Task[None] | None = None
        self._over = asyncio.Event()  # nobody wants it any more
        self.problem = ""  # why it is down

    @property
    def lives(self) -> bool:
        return self._life is not None and self._life.lives

    async def ask(self, asked: BackendRequest) -> BackendResponse:
        """PluginDown, PluginTimeout: whatever the program does, this returns or raises in bounded time."""
        seconds = float(self._settings["dashboard.plugin_seconds"])
        life = await self._living()
        try:
            async with asyncio.timeout(seconds), self._room:
                answer = await self._exchange(life, asked)
        except TimeoutError as error:
            self._suspect(life)
            raise PluginTimeout(
                f'The plugin "{self.manifest.name}" did not answer within {seconds:g} seconds.',
                hint="Try again. dashboard.plugin_seconds sets how long it may take.",
            ) from error
        except httpx2.TransportError as error:
            await self._fell(life, "")
            raise self._down() from error
        if answer.headers.get(RAISED_HEADER):
            raise self._raised(answer)
        return answer

    async def _exchange(self, life: PluginProcess, asked: BackendRequest) -> BackendResponse:
        request = life.http.build_request(asked.method, asked.target, headers=asked.headers, content=asked.body)
        told = await life.http.send(request, stream=True)
        body = bytearray()
        try:
            async for part in told.aiter_raw():
                body += part
                if len(body) > MAX_ANSWER_BYTES:
                    raise PluginDown(
                        f'The plugin "{self.manifest.name}" answered with more than {MAX_ANSWER_BYTES} bytes.',
                        hint="Ask it for less at once.",
                    )
        finally:
            await told.aclose()
        return BackendResponse(status=told.status_code, headers=told.headers, body=bytes(body))

    async def _living(self) -> PluginProcess:
        async with self._starting:
            if self._life is not None and self._life.lives:
                return self._life
            if self._life is not None:
                await self._fell(self._life, "")
            if self._over.is_set() or time.monotonic() < self._not_before:
                raise self._down()
            self._life = life = await start_plugin(self._given(), self._settings)
            self._begun = time.monotonic()
            if self._over.is_set():  # it was turned off meanwhile
                await self.end()
            elif await life.begun(START_SECONDS):
                self.problem = ""
                return life
            words = await life.last_words()
            await self._fell(life, f"it did not start within {START_SECONDS:g} seconds" if life.lives else words)
            raise self._down()

    def _given(self) -> PluginArguments:
        data = self.place.parent / "data"
        try:
            data.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreReadOnly(
                f"{data} cannot be made: {error.strerror}.", hint="A plugin keeps its data there."
            ) from error
        needs = self.manifest.needs
        return PluginArguments(
            name=self.manifest.name,
            folder=str(self.place),
            api=self.manifest.api,
            data=str(data.resolve()),
            socket=-1,
            memory_mb=int(self._settings["dashboard.plugin_memory_mb"]),
            files="files" in needs,
            network="network" in needs,
        )

    async def _fell(self, life: PluginProcess, why: str) -> None:
        """A life is over, by its own doing or ours; the next one begins after a pause that doubles."""
        if self._life is not life:
            return  # somebody else has seen to it
        self._life = None
        self._failures = 1 if time.monotonic() - self._begun > _STEADY_SECONDS else self._failures + 1
        pause = min(_FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1), _MAX_PAUSE_SECONDS)
        self._not_before = time.monotonic() + pause
        self.problem = why or await life.last_words()
        logger.warning("plugin %s is down, again in %.1f s: %s", self.manifest.name, pause, self.problem)
        await life.end()

    def _down(self) -> PluginDown:
        wait = max(0.0, self._not_before - time.monotonic())
        return PluginDown(
            f'The plugin "{self.manifest.name}" is down: {self.problem}.',
            hint=f"It is tried again in {wait:.0f} seconds.",
        )

    def _raised(self, answer: BackendResponse) -> PluginDown:
        try:
            why = str(json.loads(answer.body)["raised"])
        except (ValueError, KeyError, TypeError):
            why = "an exception"
        return PluginDown(f'The plugin "{self.manifest.name}" raised {why}.', hint="Its author can mend that.")

    def _suspect(self, life: PluginProcess) -> None:
        """One slow answer is no reason to end it; a program that answers nothing at all is."""
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe(life))

    async def _probe(self, life: PluginProcess) -> None:
        if life.lives and not await life.begun(_PROBE_SECONDS):
            await self._fell(life, "it hangs")

    async def end(self) -> None:
        self._over.set()
        if self._probing is not None:
            self._probing.cancel()
        life, self._life = self._life, None
        self.problem = "it was turned off"
        if life is not None:
            await life.end()


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
