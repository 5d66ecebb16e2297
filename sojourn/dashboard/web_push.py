"""Web Push: tells browsers that a session waits, by an empty message through the servers of their makers.

A browser is told only after its person has agreed to that. The message has no content: what waits, the page asks here.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2

from sojourn.core.errors import BadInput, SojournError
from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext

if TYPE_CHECKING:
    from sojourn.dashboard.push_key import PushKey

PUSH_KEY: Lazy[type[PushKey]] = Lazy("sojourn.dashboard.push_key:PushKey")
KEY_FILE, BROWSERS_FILE = "push-key.pem", "push-browsers.json"
MAX_BROWSERS = 50  # that are told
PUSH_SERVERS = ("fcm.googleapis.com", "push.services.mozilla.com", "push.apple.com", "notify.windows.com")
_TTL_SECONDS, _PAUSE_SECONDS, _RETRY_SECONDS, _TIMEOUT_SECONDS = 3600, 1.0, 10.0, 15.0
_log = logging.getLogger(__name__)


def check_endpoint(endpoint: str) -> None:
    """BadInput if an address belongs to no maker of browsers: nothing else is ever asked."""
    try:
        address = urlsplit(endpoint)
        host, port = address.hostname or "", address.port
    except ValueError:
        host, port, address = "", None, urlsplit("")
    is_known = any(host == server or host.endswith(f".{server}") for server in PUSH_SERVERS)
    if address.scheme != "https" or not is_known or port not in (None, 443) or "@" in address.netloc:
        raise BadInput(
            "This is not the address of a known push server.",
            hint=f"Known are the servers of browser makers: {', '.join(PUSH_SERVERS)}.",
        )


class PushNotifier:
    """Keeps the browsers that agreed, and sends each an empty message when a session begins to wait."""

    def __init__(self, app: AppContext, http: httpx2.AsyncClient | None = None) -> None:
        self._app, self._http = app, http
        self._home = Path(app.settings.home)
        self._key: PushKey | None = None
        self._endpoints: list[str] | None = None
        self._has_browsers = asyncio.Event()

    async def get_key(self) -> PushKey:
        if self._key is None:
            self._key = await asyncio.to_thread(lambda: PUSH_KEY.load()(self._home / KEY_FILE))
        return self._key

    def list_endpoints(self) -> list[str]:
        if self._endpoints is None:
            self._set(_read_endpoints(self._home / BROWSERS_FILE))
        assert self._endpoints is not None
        return list(self._endpoints)

    def add(self, endpoint: str) -> None:
        """Keeps a browser that agreed. BadInput."""
        check_endpoint(endpoint)
        kept = [one for one in self.list_endpoints() if one != endpoint]
        if len(kept) >= MAX_BROWSERS:
            raise BadInput("Too many browsers are told already.", hint="Turn it off in one that is not used.")
        self._save([*kept, endpoint])

    def remove(self, endpoint: str) -> None:
        self._save([one for one in self.list_endpoints() if one != endpoint])

    def _save(self, endpoints: list[str]) -> None:
        path = self._home / BROWSERS_FILE
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = path.with_name(f".{path.name}.new")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600), "w") as file:
            json.dump(endpoints, file)
        draft.replace(path)
        self._set(endpoints)

    def _set(self, endpoints: list[str]) -> None:
        self._endpoints = endpoints
        if endpoints:
            self._has_browsers.set()
        else:
            self._has_browsers.clear()

    async def watch(self) -> None:
        """Sends whenever a session begins to wait, until cancelled."""
        while True:
            try:
                await self._watch_changes()
            except SojournError:  # the store is away; its own health says so
                await asyncio.sleep(_RETRY_SECONDS)

    async def _watch_changes(self) -> None:
        """Follows the change feed while there is a browser to tell; returns when there is none any more."""
        store = self._app.store
        self.list_endpoints()
        await self._has_browsers.wait()
        after, known = await store.last_change(), set(await store.list_waiting())
        while self._has_browsers.is_set():
            async with aclosing(store.watch_changes(after=after)) as changes:
                await anext(changes)
            after, waiting = await store.last_change(), set(await store.list_waiting())
            if waiting - known:
                await self.notify()
            known = waiting
            await asyncio.sleep(_PAUSE_SECONDS)  # what changes meanwhile is looked at once

    async def notify(self) -> None:
        """Sends an empty message to every browser; forgets one that does not want any more."""
        for endpoint in self.list_endpoints():
            try:
                await self._send(endpoint)
            except httpx2.HTTPError as error:
                _log.warning("push server %s: %s", urlsplit(endpoint).hostname, type(error).__name__)

    async def _send(self, endpoint: str) -> None:
        if self._http is None:
            self._http = httpx2.AsyncClient(timeout=_TIMEOUT_SECONDS, follow_redirects=False)
        contact = str(self._app.settings["server.public_url"]) or "https://localhost"
        headers = {
            "Authorization": (await self.get_key()).authorize(endpoint, contact),
            "TTL": str(_TTL_SECONDS),
            "Urgency": "high",
        }
        answer = await self._http.post(endpoint, headers=headers, content=b"")
        if answer.status_code in (404, 410):
            self.remove(endpoint)
        elif answer.status_code >= 400:
            _log.warning("push server %s answered %s", urlsplit(endpoint).hostname, answer.status_code)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()


def _read_endpoints(path: Path) -> list[str]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
