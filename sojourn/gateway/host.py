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
from typing import cast

from sojourn.core.errors import NotFound, SojournError
from sojourn.core.messages import Json
from sojourn.gateway.asyncio_tasks import cancel_tasks
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.dispatch import MessageDispatcher
from sojourn.gateway.handoff_worker import HandoffWorker
from sojourn.gateway.inbox_worker import InboxWorker
from sojourn.gateway.outbox_worker import OutboxWorker
from sojourn.gateway.turn_runner import TurnRunner
from sojourn.gateway.watchers import SessionWatchers
from sojourn.ports.app import AppContext, HasSettings, PluginAccess
from sojourn.ports.gateway_store import ConnectionHealth, Heartbeat
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.plugin import Part, parts_by_name

HEARTBEAT_SECONDS = 5.0
_MISSED_BEATS = 3  # heartbeats that may be missed before others consider a gateway dead
_RETENTION_SECONDS = 7 * 86_400.0  # for finished rows of the inbox and the outbox
_CLEANUP_SECONDS = 60.0
_CLOSE_SECONDS = 3.0
_RESTART_SECONDS, _MAX_RESTART_SECONDS, _STABLE_SECONDS = 0.5, 30.0, 60.0
_ALWAYS_SERVED = "local"

logger = logging.getLogger(__name__)


class Gateway:
    """Serves chat networks. `adapters` replaces the adapters that the settings name."""

    def __init__(self, app: AppContext, adapters: Sequence[PlatformAdapter] | None = None) -> None:
        self.id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._context = context = GatewayContext(app, self.id)
        self.adapters, self.problems = (list(adapters), {}) if adapters is not None else build_adapters(app)
        turn_runner = TurnRunner(context)
        self._handoffs = HandoffWorker(context, turn_runner)
        self._inbox = InboxWorker(context, MessageDispatcher(context, turn_runner, self._handoffs))
        self._outbox = OutboxWorker(context)
        self._watchers = SessionWatchers(context)
        self._changed = asyncio.Event()  # a connection has changed
        for adapter in self.adapters:
            connection = PlatformConnection(
                adapter, app.store, self.id, self._inbox.receive, self._changed, lease_seconds=context.lease_seconds
            )
            context.connections[connection.key] = connection
        self._started_at = time.time()
        self.ready = asyncio.Event()  # the first heartbeat is stored and every connection was attempted

    @property
    def connections(self) -> list[PlatformConnection]:
        return list(self._context.connections.values())

    async def run(self) -> None:
        """Runs every part until cancelled. A part that fails is restarted; the others go on."""
        parts: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("heartbeat", self._send_heartbeats),
            ("inbox", self._inbox.run),
            ("outbox", self._outbox.run),
            ("hand-offs", self._handoffs.run),
            ("watchers", self._watchers.run),
            ("cleanup", self._clean_up),
            *((f"connection {connection.key}", connection.run) for connection in self.connections),
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
        for adapter in self.adapters:
            with suppress(SojournError, TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await adapter.close()
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


def list_configured(app: PluginAccess) -> list[str]:
    """The platforms to serve: those of `gateway.platforms`, else `local` and every configured one. NotFound."""
    available = _list_platforms(app)
    names = [name.strip() for name in str(app.settings["gateway.platforms"]).split(",") if name.strip()]
    for name in names:
        if name not in available:
            raise NotFound(f'There is no platform "{name}".', hint=f"Choose from: {', '.join(sorted(available))}.")
    return names or [
        name for name, (plugin, _) in available.items() if name == _ALWAYS_SERVED or _is_configured(app, plugin)
    ]


def _list_platforms(app: PluginAccess) -> dict[str, tuple[str, Part]]:
    """Every available platform: the name of its plugin, and the factory of its adapter."""
    platforms: dict[str, tuple[str, Part]] = {}
    for plugin in app.plugins():
        for name, part in parts_by_name(plugin.platforms).items():
            platforms.setdefault(name, (plugin.name, part))
    return platforms


def _is_configured(app: HasSettings, plugin: str) -> bool:
    prefix = f"SOJOURN_{plugin}_".upper().replace("-", "_")
    return plugin in app.settings.plugins or any(name.startswith(prefix) for name in app.settings.variables)


def build_adapters(app: AppContext) -> tuple[list[PlatformAdapter], dict[str, SojournError]]:
    """Builds the configured adapters, and gives the error of each one whose configuration is wrong."""
    adapters, problems = list[PlatformAdapter](), dict[str, SojournError]()
    available = _list_platforms(app)
    for name in list_configured(app):
        try:
            build = cast(Callable[[AppContext], PlatformAdapter], app.load(available[name][1]))
            adapters.append(build(app))
        except SojournError as error:
            logger.warning("%s cannot be served: %s %s", name, error, error.hint)
            problems[name] = error
    return adapters, problems
