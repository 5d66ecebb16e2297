"""The Node program of the bridge as a child process: started, asked, listened to and ended."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from importlib.resources import files
from typing import Any

from sojourn.core.errors import BadConfig, KeyRefused, MissingPackage, PlatformDown, Refusal, SendRefused
from sojourn.platforms.whatsapp_bridge import NAME, PACKAGE, RISK, WhatsappBridgeSettings
from sojourn.processes.supervisor import ChildProcess, OutputBuffer, Watch, start

_PROGRAM = "sojourn_bridge.mjs"
_REPLY_SECONDS, _OPEN_SECONDS = 60.0, 60.0
_OUTPUT_BYTES = 20_000  # of what the program writes to stderr, the beginning and the end
_SHOWN_CHARS = 300
_KINDS: Mapping[int, Refusal] = {403: "forbidden", 404: "not_found", 413: "too_long", 429: "rate_limited"}
_LOST = (408, 428, 503)  # statuses
_NOT_SIGNED_IN = f"Run `sojourn gateway add {NAME}` and scan the code."


class Bridge:
    """One linked device. It runs while it is needed, once for each folder."""

    def __init__(self, settings: WhatsappBridgeSettings) -> None:
        if not settings.accept_risk:
            raise BadConfig(RISK, hint=f"If you accept that, set `accept_risk` under [plugins.{NAME}].")
        self._settings, self._folder = settings, settings.folder.expanduser()
        self._child: ChildProcess | None = None
        self._reader: asyncio.Task[None] | None = None
        self._replies: dict[int, asyncio.Future[Any]] = {}
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()  # None: the program has ended
        self._opened: asyncio.Future[dict[str, Any]] | None = None
        self._opening = asyncio.Lock()
        self._last_call = 0

    async def open(self) -> dict[str, Any]:
        """Starts the program unless it runs, and waits until WhatsApp is connected: who we are. KeyRefused if nobody is
        signed in, PlatformDown, MissingPackage."""
        async with self._opening:
            if self._opened is None:
                await self._start()
        assert self._opened is not None
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                return await asyncio.shield(self._opened)
        except TimeoutError as error:
            raise PlatformDown("WhatsApp cannot be reached from the bridge.") from error

    async def watch_sign_in(self) -> AsyncGenerator[dict[str, Any], None]:
        """The states until somebody has signed in: codes to scan, and at the end `open`."""
        await self._start()
        while (event := await self._events.get()) is not None:
            if event["event"] == "state":
                yield event
        raise PlatformDown(f"The bridge has ended. {self._describe_end()}".strip())

    async def _start(self) -> None:
        node = shutil.which(self._settings.node)
        if node is None or not (self._folder / "node_modules" / "baileys").is_dir():
            what = f"Node ({self._settings.node})" if node is None else f"Baileys in {self._folder}"
            hint = f"Install Node 20 or newer, then: cd {self._folder} && npm install {PACKAGE}"
            raise MissingPackage(f"The bridge needs {what}, which is not there.", hint=hint)
        program = self._folder / _PROGRAM
        program.write_text(files(__package__).joinpath("bridge.mjs").read_text("utf-8"), "utf-8")
        environment = {"PATH": os.defpath, "HOME": str(self._folder), "NODE_NO_WARNINGS": "1"}  # none of our secrets
        self._events, self._opened = asyncio.Queue(), asyncio.get_running_loop().create_future()
        self._child = await start(
            [node, str(program), str(self._folder)],
            cwd=self._folder,
            env=environment,
            connect="streams",
            watch=Watch(),
            output=OutputBuffer(_OUTPUT_BYTES, _OUTPUT_BYTES),
        )
        self._reader = asyncio.create_task(self._read(self._child, self._opened))

    async def _read(self, child: ChildProcess, opened: asyncio.Future[dict[str, Any]]) -> None:
        while line := await child.reader.readline():
            said = _parse_line(line)
            if said is None:
                continue
            if "reply" in said:
                future = self._replies.pop(said["reply"], None)
                if future is not None and not future.done():
                    future.set_result(said)
                continue
            if said["event"] == "state" and not opened.done():
                _settle(opened, said)
            self._events.put_nowait(said)
        await child.wait(1.0)
        error = PlatformDown(f"The bridge has ended. {self._describe_end()}".strip())
        for waiting in (opened, *self._replies.values()):
            if not waiting.done():
                waiting.set_exception(error)
        opened.exception()  # nobody may be waiting for it
        self._events.put_nowait(None)

    def _describe_end(self) -> str:
        said = self._child.output.text().strip() if self._child else ""
        return said.splitlines()[-1][:_SHOWN_CHARS] if said else ""

    async def messages(self) -> AsyncGenerator[dict[str, Any], None]:
        """Messages, oldest first; one is acknowledged when the next one is asked for. KeyRefused, PlatformDown."""
        await self.open()
        while (event := await self._events.get()) is not None:
            if event["event"] == "message":
                yield event
                await self._write({"ack": event["number"]})
            elif event["state"] == "signed_out":
                raise KeyRefused("WhatsApp has signed this device out.", hint=_NOT_SIGNED_IN)
            elif event["state"] == "closed":
                raise PlatformDown(f"WhatsApp has closed the connection: {event['reason']} ({event['status']}).")
        raise PlatformDown(f"The bridge has ended. {self._describe_end()}".strip())

    async def call(self, name: str, /, **given: Any) -> dict[str, Any]:
        """SendRefused, PlatformDown, KeyRefused."""
        await self.open()
        self._last_call += 1
        id, future = self._last_call, asyncio.get_running_loop().create_future()
        self._replies[id] = future
        await self._write({"id": id, "call": name, **given})
        try:
            async with asyncio.timeout(_REPLY_SECONDS):
                said = await future
        except TimeoutError as error:
            raise PlatformDown("The bridge does not answer.") from error
        finally:
            self._replies.pop(id, None)
        if "error" in said:
            if said["status"] in _LOST:
                raise PlatformDown(f"The connection to WhatsApp is lost: {said['error']}.")
            kind = _KINDS.get(said["status"], "unknown")
            raise SendRefused(f"WhatsApp refuses it: {said['error']}.", kind=kind)
        value: dict[str, Any] = said["value"]
        return value

    async def _write(self, value: Mapping[str, Any]) -> None:
        if self._child is None:
            raise PlatformDown("The bridge has ended.")
        try:
            self._child.writer.write(json.dumps(value).encode() + b"\n")
            await self._child.writer.drain()
        except OSError as error:
            raise PlatformDown("The bridge has ended.") from error

    async def close(self) -> None:
        child, reader, self._child, self._reader, self._opened = self._child, self._reader, None, None, None
        if child is not None:
            await child.end()
        if reader is not None:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """None for what is not ours: a library may print as well."""
    with suppress(ValueError, RecursionError):
        said = json.loads(line)
        if isinstance(said, dict) and ("reply" in said or "event" in said):
            return said
    return None


def _settle(opened: asyncio.Future[dict[str, Any]], state: dict[str, Any]) -> None:
    if state["state"] == "open":
        opened.set_result(state)
    elif state["state"] in ("scan", "signed_out"):
        opened.set_exception(KeyRefused("Nobody is signed in to WhatsApp on this device.", hint=_NOT_SIGNED_IN))
    elif state["state"] == "closed":
        reason = f"{state['reason']} ({state['status']})"
        opened.set_exception(PlatformDown(f"WhatsApp does not let us connect: {reason}."))
