"""The connections of a gateway: one per configured network, started and stopped as the settings change."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import cast

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import NotFound, SojournError
from sojourn.gateway.connection import PlatformConnection
from sojourn.ports.app import AppContext, HasSettings, PluginAccess
from sojourn.ports.gateway_store import AccountKey
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.plugin import Part, parts_by_name
from sojourn.settings.formats import split_list

_ALWAYS_SERVED = "local"
_LOOK_SECONDS = 1.0  # between two looks at the settings
_CLOSE_SECONDS = 3.0

Connect = Callable[[PlatformAdapter], PlatformConnection]
Supervise = Callable[[str, Callable[[], Awaitable[None]]], Awaitable[None]]
logger = logging.getLogger(__name__)


class PlatformConnections:
    """Keeps `connections` as the settings say. `adapters` are served instead, and stay, if they are given."""

    def __init__(
        self,
        app: AppContext,
        connections: dict[AccountKey, PlatformConnection],
        connect: Connect,
        supervise: Supervise,
        changed: asyncio.Event,
        adapters: Sequence[PlatformAdapter] | None = None,
    ) -> None:
        self._app, self._connections, self._connect, self._supervise = app, connections, connect, supervise
        self._changed = changed  # set when a connection comes or goes
        self._is_fixed = adapters is not None
        self._configured: dict[str, str] = {}  # the configuration that each network is served with, or failed with
        self._tasks: dict[AccountKey, asyncio.Task[None]] = {}
        self.problems: dict[str, SojournError] = {}
        for adapter in adapters or ():
            self._add(adapter)
        if adapters is None:
            for name, configuration in describe_configured(app).items():
                self._open(name, configuration)

    async def run(self) -> None:
        """Runs the connections, and follows the settings until cancelled."""
        try:
            while True:
                for connection in self._connections.values():
                    self._start(connection)
                await asyncio.sleep(_LOOK_SECONDS)
                if not self._is_fixed:
                    await self._follow_settings()
        finally:
            await cancel_tasks(list(self._tasks.values()))
            for connection in self._connections.values():
                await _close(connection.adapter)

    async def _follow_settings(self) -> None:
        try:
            wanted = describe_configured(self._app)
        except NotFound as error:
            logger.warning("the networks stay as they are: %s %s", error, error.hint)
            return
        for name in [one for one, before in self._configured.items() if wanted.get(one) != before]:
            await self._remove(name)
        for name, configuration in wanted.items():
            if name not in self._configured:
                self._open(name, configuration)

    def _open(self, name: str, configuration: str) -> None:
        """Builds the adapter of a network; a mistake in its configuration is recorded as its problem."""
        self._configured[name] = configuration
        try:
            self._add(build_adapter(self._app, name))
        except SojournError as error:
            logger.warning("%s cannot be served: %s %s", name, error, error.hint)
            self.problems[name] = error

    def _add(self, adapter: PlatformAdapter) -> None:
        connection = self._connect(adapter)
        self._connections[connection.key] = connection

    def _start(self, connection: PlatformConnection) -> None:
        if connection.key not in self._tasks:
            supervised = self._supervise(f"connection {connection.key}", connection.run)
            self._tasks[connection.key] = asyncio.ensure_future(supervised)

    async def _remove(self, name: str) -> None:
        del self._configured[name]
        self.problems.pop(name, None)
        for key in [key for key in self._connections if key[0] == name]:
            if task := self._tasks.pop(key, None):
                await cancel_tasks([task])
            await _close(self._connections.pop(key).adapter)
        self._changed.set()


async def _close(adapter: PlatformAdapter) -> None:
    with suppress(SojournError, TimeoutError):
        async with asyncio.timeout(_CLOSE_SECONDS):
            await adapter.close()


def describe_configured(app: PluginAccess) -> dict[str, str]:
    """The networks to serve, each with its configuration as text, which tells whether it has changed. NotFound."""
    available, found = list_platforms(app), dict[str, str]()
    for name in list_configured(app):
        plugin = available[name][0]
        prefix = _variable_prefix(plugin)
        variables = {key: value for key, value in app.settings.variables.items() if key.startswith(prefix)}
        found[name] = repr((app.settings.plugins.get(plugin), variables))
    return found


def list_configured(app: PluginAccess) -> list[str]:
    """The platforms to serve: those of `gateway.platforms`, else `local` and every configured one. NotFound."""
    available = list_platforms(app)
    names = split_list(app.settings["gateway.platforms"])
    for name in names:
        if name not in available:
            raise NotFound(f'There is no platform "{name}".', hint=f"Choose from: {', '.join(sorted(available))}.")
    return names or [
        name for name, (plugin, _) in available.items() if name == _ALWAYS_SERVED or is_configured(app, plugin)
    ]


def list_platforms(app: PluginAccess) -> dict[str, tuple[str, Part]]:
    """Every available platform: the name of its plugin, and the factory of its adapter."""
    platforms: dict[str, tuple[str, Part]] = {}
    for plugin in app.plugins():
        for name, part in parts_by_name(plugin.platforms).items():
            platforms.setdefault(name, (plugin.name, part))
    return platforms


def is_configured(app: HasSettings, plugin: str) -> bool:
    prefix = _variable_prefix(plugin)
    return plugin in app.settings.plugins or any(name.startswith(prefix) for name in app.settings.variables)


def _variable_prefix(plugin: str) -> str:
    return f"SOJOURN_{plugin}_".upper().replace("-", "_")


def build_adapter(app: AppContext, name: str) -> PlatformAdapter:
    """Builds the adapter of a platform from the settings. BadConfig, MissingPackage."""
    build = cast(Callable[[AppContext], PlatformAdapter], app.load(list_platforms(app)[name][1]))
    return build(app)
