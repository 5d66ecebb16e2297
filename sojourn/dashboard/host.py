"""The host of plugins that are not ours: who is on right now, and the programs behind their pages."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from sojourn.asyncio_tasks import cancel_task
from sojourn.core.errors import NotFound, SojournError
from sojourn.dashboard.backends import Backend, fingerprint
from sojourn.dashboard_plugins.folders import PluginFolder, find_folder
from sojourn.dashboard_plugins.manifest import NAME
from sojourn.dashboard_plugins.state import Consents, InstalledPages
from sojourn.ports.app import PluginAccess

_POLL_SECONDS = 1.0  # seconds between two looks whether somebody turned a plugin off elsewhere


class PluginHost:
    """For one server: who is on right now, and their programs. Turning on and off needs no restart."""

    def __init__(self, app: PluginAccess) -> None:
        self._app, self._consents = app, Consents(app.settings.home)
        self.pages = InstalledPages(app)
        self._taken = frozenset(one.name for one in app.plugins())
        self._keys: dict[str, str] = {}
        self._backends: dict[str, Backend] = {}
        self._looking: asyncio.Task[None] | None = None

    def on(self, name: str) -> PluginFolder | None:
        """The plugin, if it is there, sound and turned on."""
        if not NAME.fullmatch(name) or name in self._taken:
            return None
        try:
            folder = find_folder(self._app.settings.home, name, self._taken)
            return folder if folder and self._consents.state(folder) == "on" else None
        except SojournError:
            return None

    def has_tab(self, path: str) -> bool:
        """Whether a plugin that is on has its page there."""
        if not NAME.fullmatch(path.removeprefix("/")):
            return False
        on = [one.manifest for one in self.pages.list_pages() if one.state == "on" and not one.built_in]
        return any(one is not None and one.path == path for one in on)

    def key(self, name: str) -> str:
        """Part of the address of its files. Its frame has no cookie to show, so knowing this has to do."""
        return self._keys.setdefault(name, secrets.token_urlsafe(16))

    def problem(self, name: str) -> str:
        """Why its program is down, if it is."""
        return self._backends[name].problem if name in self._backends else ""

    async def backend(self, folder: PluginFolder) -> Backend:
        """Its program; a new one when the manifest or the file was changed."""
        assert folder.manifest is not None
        if not folder.manifest.api:
            raise NotFound(f'The plugin "{folder.name}" has no API.', hint="Its manifest names none.")
        known = self._backends.get(folder.name)
        if known is None or known.stamp != fingerprint(folder.manifest, folder.place):
            self._backends[folder.name] = made = Backend(folder.manifest, folder.place, self._app.settings)
            if known is not None:
                await known.end()
            known = made
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return known

    async def _look(self) -> None:
        """While programs run: ends those of plugins that were turned off, by whomever."""
        while self._backends:
            await asyncio.sleep(_POLL_SECONDS)
            await self.settle()

    async def settle(self) -> None:
        """Ends the programs of plugins that are not on any more."""
        for name in [name for name in self._backends if self.on(name) is None]:
            await self._backends.pop(name).end()
            self._keys.pop(name, None)

    async def close(self) -> None:
        await cancel_task(self._looking)
        backends, self._backends = list(self._backends.values()), {}
        await asyncio.gather(*(one.end() for one in backends))


class ConditionalRoute(Mount):
    """A route that exists only while `is_active(path)` is true, so that plugins come and go without a restart.

    A Mount, because FastAPI includes that kind of route in another router unchanged.
    """

    def __init__(self, app: ASGIApp, is_active: Callable[[str], bool], methods: Collection[str]) -> None:
        super().__init__("/live", app=app)  # the path is never used, and must not be empty
        self._is_active, self._methods = is_active, methods

    def matches(self, scope: Scope) -> tuple[Match, dict[str, Any]]:
        if scope["type"] != "http" or not self._is_active(scope["path"]):
            return Match.NONE, {}
        fits = Match.FULL if scope["method"] in self._methods else Match.PARTIAL
        return fits, {"endpoint": self.app, "path_params": {}}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self._methods:
            raise HTTPException(405)
        await self.app(scope, receive, send)
