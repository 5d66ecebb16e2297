"""The gateway process: connections, inbox, outbox, hand-off worker and heartbeat, run side by side."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import SojournError
from sojourn.core.messages import Json
from sojourn.gateway.agent_prompts import AgentPrompts
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.connections import PlatformConnections
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
_MISSED_BEATS = 3  # heartbeats that may be missed before others consider a gateway dead
_RETENTION_SECONDS = 7 * 86_400.0  # for finished rows of the inbox and the outbox
_CLEANUP_SECONDS = 60.0
_RESTART_SECONDS, _MAX_RESTART_SECONDS, _STABLE_SECONDS = 0.5, 30.0, 60.0

logger = logging.getLogger(__name__)


class Gateway:
    """Serves chat networks. `adapters` replaces the adapters that the settings name."""

    def __init__(self, app: AppContext, adapters: Sequence[PlatformAdapter] | None = None) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._context = context = GatewayContext(app, self.id)
        turn_runner = TurnRunner(context)
        self._handoffs = HandoffWorker(context, turn_runner)
        self._agent_prompts = AgentPrompts(context)
        dispatcher = MessageDispatcher(context, turn_runner, self._handoffs, self._agent_prompts)
        self._inbox = InboxWorker(context, dispatcher)
        self._outbox = OutboxWorker(context)
        self._watchers = SessionWatchers(context)
        self._changed = asyncio.Event()  # a connection has changed
        connect = partial(
            PlatformConnection,
            store=app.store,
            owner=self.id,
            receive=self._inbox.receive,
            changed=self._changed,
            lease_seconds=context.lease_seconds,
        )
        self._platforms = PlatformConnections(
            app, context.connections, connect, self._supervise, self._changed, adapters
        )
        self._started_at = time.time()
        self.ready = asyncio.Event()  # the first heartbeat is stored and every connection was attempted

    @property
    def connections(self) -> list[PlatformConnection]:
        return list(self._context.connections.values())

    @property
    def problems(self) -> dict[str, SojournError]:
        """Why a configured network is not served, by its name."""
        return self._platforms.problems

    async def run(self) -> None:
        """Runs every part until cancelled. A part that fails is restarted; the others go on."""
        parts: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("heartbeat", self._send_heartbeats),
            ("inbox", self._inbox.run),
            ("outbox", self._outbox.run),
            ("hand-offs", self._handoffs.run),
            ("watchers", self._watchers.run),
            ("questions of agents", self._agent_prompts.run),
            ("cleanup", self._clean_up),
            ("connections", self._platforms.run),
        ]
        tasks = [asyncio.create_task(self._supervise(name, run), name=f"gateway {name}") for name, run in parts]
        try:
            await asyncio.wait(tasks)  # not gather: it would cancel them a second time, in the middle of their cleanup
        finally:
            await cancel_tasks(tasks)
            await self._close()

    async def _supervise(self, name: str, run: Callable[[], Awaitable[None]]) -> None:
        pause = _RESTART_SECONDS
        while True:
            started = time.monotonic()
            try:
                await run()
                return
            except Exception:  # the host's own edge: one part must not take the others down
                logger.exception("the gateway's %s failed and will be restarted", name)
            was_stable = time.monotonic() - started > _STABLE_SECONDS
            pause = _RESTART_SECONDS if was_stable else min(pause * 2, _MAX_RESTART_SECONDS)
            await asyncio.sleep(pause)

    async def _close(self) -> None:
        with suppress(SojournError):
            await self._context.store.retire_gateway(self.id)

    async def _send_heartbeats(self) -> None:
        """Stores that this gateway is alive and how its connections are: regularly, and when one changes."""
        while True:
            self._changed.clear()
            with suppress(SojournError):
                beat = Heartbeat(
                    id=self.id,
                    host=socket.gethostname(),
                    pid=os.getpid(),
                    health=await self.health(),
                    started_at=self._started_at,
                )
                await self._context.store.heartbeat(beat, seconds=HEARTBEAT_SECONDS * _MISSED_BEATS)
            if all(connection.state != "starting" for connection in self.connections):
                self.ready.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._changed.wait()

    async def health(self) -> dict[str, Json]:
        """The state of each connection, its last message in each direction, and what waits since when."""
        progress = {(row.platform, row.account): row for row in await self._context.store.line_health()}
        lines = {
            key[0]: connection.health() | _progress_to_json(progress.get(key))
            for key, connection in self._context.connections.items()
        }
        failed = {
            name: {"state": "failed", "problem": f"{error} {error.hint}".strip()}
            for name, error in self.problems.items()
        }
        return {"lines": {**failed, **lines}}

    async def _clean_up(self) -> None:
        """Ends hand-offs that expired and prunes old finished rows."""
        while True:
            with suppress(SojournError):
                await self._context.store.expire_handoffs()
                await self._context.store.prune_journal(time.time() - _RETENTION_SECONDS)
            await asyncio.sleep(_CLEANUP_SECONDS)


def _progress_to_json(row: ConnectionHealth | None) -> dict[str, Json]:
    if row is None:
        return {"waiting": 0, "pending": 0}
    return {name: value for name, value in asdict(row).items() if name not in ("platform", "account")}
