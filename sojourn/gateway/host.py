"""The gateway: lines to chat networks, an inbox, an outbox and a watcher for hand-offs, side by side."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from sojourn.core.errors import BadConfig, SojournError
from sojourn.core.messages import Json
from sojourn.gateway.adapters import build_adapters
from sojourn.gateway.chat_commands import Commands
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.dispatch import MessageDispatcher
from sojourn.gateway.handoff_worker import HandoffWorker
from sojourn.gateway.inbox_worker import InboxWorker
from sojourn.gateway.outbox_worker import OutboxWorker
from sojourn.gateway.turn_runner import TurnRunner
from sojourn.gateway.watchers import SessionWatchers
from sojourn.ports.app import AppContext
from sojourn.ports.gateway_store import ConnectionHealth, Heartbeat
from sojourn.ports.platform import PlatformAdapter

HEARTBEAT_SECONDS = 5.0
_DEAD = 3  # beats that may be missed
_KEEP = 7 * 86_400.0  # seconds for which finished rows are kept
_WAYS = ("queue", "interrupt", "steer")

logger = logging.getLogger(__name__)


class Gateway:
    """All of it. `adapters` are those of the settings, unless others are given."""

    def __init__(self, kit: AppContext, adapters: Sequence[PlatformAdapter] | None = None) -> None:
        if kit.settings["gateway.when_busy"] not in _WAYS:
            raise BadConfig(
                f"gateway.when_busy is {kit.settings['gateway.when_busy']!r}.",
                hint=f"Choose one of: {', '.join(_WAYS)}.",
            )
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._desk = GatewayContext(kit, self.id)
        self.adapters, self.problems = (list(adapters), {}) if adapters is not None else build_adapters(kit)
        answering = TurnRunner(self._desk)
        self._handoffs = HandoffWorker(self._desk, answering)
        handling = MessageDispatcher(self._desk, answering, self._handoffs, Commands(self._desk))
        self._inbox = InboxWorker(self._desk, handling)
        self._outbox = OutboxWorker(kit.store, self.id, self._desk.lines, seconds=self._desk.lease)
        self._attached = SessionWatchers(self._desk)
        for adapter in self.adapters:
            line = PlatformConnection(adapter, kit.store, self.id, self._inbox.keep, seconds=self._desk.lease)
            self._desk.lines[line.name] = line
        self._started = time.time()
        self.ready = asyncio.Event()  # it has been seen by others, and its lines have been tried

    @property
    def lines(self) -> list[PlatformConnection]:
        return list(self._desk.lines.values())

    async def run(self) -> None:
        """Until cancelled. A part that fails is started again; the others go on."""
        parts: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("heartbeat", self._beat),
            ("inbox", self._inbox.run),
            ("outbox", self._outbox.run),
            ("hand-offs", self._handoffs.run),
            ("watchers", self._attached.run),
            ("tidying", self._tidy),
            *((f"line {line.name}", line.run) for line in self.lines),
        ]
        tasks = [asyncio.create_task(self._kept_alive(name, run), name=f"gateway {name}") for name, run in parts]
        try:
            await asyncio.wait(tasks)  # and not gather, which would cancel them a second time, amid their tidying up
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._leave()

    async def _kept_alive(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        pause = 0.5
        while True:
            began = time.monotonic()
            try:
                await run()
                return
            except Exception:  # the host's own edge: one part must not take the others down
                logger.exception("the gateway's %s failed and is started again", name)
            pause = 0.5 if time.monotonic() - began > 60 else min(pause * 2, 30)
            await asyncio.sleep(pause)

    async def _leave(self) -> None:
        for adapter in self.adapters:
            with suppress(SojournError, TimeoutError):
                async with asyncio.timeout(3):
                    await adapter.close()
        with suppress(SojournError):
            await self._desk.store.retire_gateway(self.id)

    # signs of life
    async def _beat(self) -> None:
        """Others see from it that this gateway lives, and how its lines get on."""
        while True:
            for line in self.lines:
                line.changed.clear()
            with suppress(SojournError):
                await self._desk.store.heartbeat(
                    self._heartbeat(await self.health()), seconds=HEARTBEAT_SECONDS * _DEAD
                )
            if all(line.state != "starting" for line in self.lines):
                self.ready.set()
            waiting = [asyncio.ensure_future(line.changed.wait()) for line in self.lines]
            try:
                await asyncio.wait(
                    [*waiting, asyncio.ensure_future(asyncio.sleep(HEARTBEAT_SECONDS))],
                    timeout=HEARTBEAT_SECONDS,
                    return_when=asyncio.FIRST_COMPLETED,
                )
            finally:
                for one in waiting:
                    one.cancel()

    def _heartbeat(self, health: dict[str, Json]) -> Heartbeat:
        return Heartbeat(
            id=self.id, host=socket.gethostname(), pid=os.getpid(), health=health, started_at=self._started
        )

    async def health(self) -> dict[str, Json]:
        """How each line gets on: its state, what came last, what went last, what waits and since when."""
        progress = {(one.platform, one.account): one for one in await self._desk.store.line_health()}
        lines = {
            name: line.health() | _progress(progress.get((name, account)))
            for (name, account), line in self._desk.lines.items()
        }
        failed = {
            name: {"state": "failed", "problem": f"{why} {why.hint}".strip()} for name, why in self.problems.items()
        }
        return {"lines": {**failed, **lines}}

    async def _tidy(self) -> None:
        """What was finished long ago goes; hand-offs that nobody carries end."""
        while True:
            with suppress(SojournError):
                await self._desk.store.expire_handoffs()
                await self._desk.store.prune_journal(time.time() - _KEEP)
            await asyncio.sleep(60)


def _progress(line: ConnectionHealth | None) -> dict[str, Json]:
    if line is None:
        return {"waiting": 0, "pending": 0}
    return {
        "waiting": line.waiting,
        "oldest_waiting": line.oldest_waiting,
        "last_received": line.last_received,
        "pending": line.pending,
        "oldest_pending": line.oldest_pending,
        "last_sent": line.last_sent,
        "failed": line.failed,
    }
