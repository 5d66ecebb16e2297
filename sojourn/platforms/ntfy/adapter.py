"""ntfy adapter: one topic is one chat, without threads and edits.

A topic has no members: anybody who knows it can write with any title. So the topic is the sender, and the title only a
name to show: protect the topic, or keep its name secret. Our own messages carry a tag, so that we ignore them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import httpx2

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.ntfy import NAME, NtfySettings
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_OWN_TAG = "sojourn"
_SILENCE_SECONDS = 120.0  # the server sends a keep-alive every 45


class Ntfy:
    """One topic on one server."""

    # ntfy turns a longer message into a file.
    info = PlatformInfo(name=NAME, label="ntfy", max_chars=4096, counting="bytes")

    def __init__(self, app: PluginContext) -> None:
        self._settings: NtfySettings = app.configured(NAME)
        self.account = f"{self._settings.server.rstrip('/')}/{self._settings.topic}"
        self._place = self.home(self._settings.topic)
        token = self._settings.token.reveal()
        self._http = RestClient("ntfy", self._settings.server, key="SOJOURN_NTFY_TOKEN", token=token)
        self._cursors = CursorStore(app.store, NAME, self.account)

    async def identify(self) -> BotProfile:
        """Asks for what came just now: whether we may read the topic."""
        news = self._http.stream(f"/{self._settings.topic}/json", params={"poll": "1", "since": str(int(time.time()))})
        async with refusals_as_outage(), news as response:
            await response.aread()
        return BotProfile(name=self._settings.topic, address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        position = await self._cursors.load()
        if not position:  # start here even if the connection is lost before the first message
            position = {"since": str(int(time.time()))}
            await self._cursors.save(position)
        path, timeout = f"/{self._settings.topic}/json", httpx2.Timeout(_SILENCE_SECONDS, connect=10.0)
        stream = self._http.stream(path, params={"since": position["since"]}, timeout=timeout)
        async with refusals_as_outage(), stream as response:
            async for line in response.aiter_lines():
                message = json.loads(line) if line.strip() else {}
                if message.get("event") == "message" and _OWN_TAG not in (message.get("tags") or ()):
                    yield await self._to_inbound(message)
                    await self._cursors.save({"since": message["id"]})
        raise self._http.to_platform_down(EOFError("the connection was closed"))

    async def _to_inbound(self, message: Mapping[str, Any]) -> Inbound:
        title, text, files = str(message.get("title") or "someone"), str(message.get("message", "")), tuple[File, ...]()
        try:
            files = await self._fetch_files(message.get("attachment"))
        except SendRefused as error:  # the server deletes files after some hours
            text = f"{text}\n[The file could not be downloaded: {error}]".strip()
        return Inbound(
            id=str(message["id"]),
            place=self._place,
            sender=Sender(id=self._settings.topic, name=title),
            text=text,
            files=files,
            at=float(message.get("time", 0)),
        )

    async def _fetch_files(self, attachment: Mapping[str, Any] | None) -> tuple[File, ...]:
        """Downloads from the same server only: a URL in a message could lead anywhere."""
        server = self._settings.server.rstrip("/")
        if not attachment or not str(attachment.get("url", "")).startswith(f"{server}/file/"):
            return ()
        response = await self._http.request("GET", str(attachment["url"]).removeprefix(server))
        kind = str(attachment.get("type") or "application/octet-stream")
        return (File(name=str(attachment.get("name", "file")), media_type=kind, data=response.content),)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        message = {"topic": place.chat, "message": text, "tags": [_OWN_TAG], "title": "Sojourn", "markdown": not plain}
        reply = await self._http.request("POST", "/", json=message)
        return Sent(place=place, id=str(reply.json()["id"]))

    def home(self, chat: str) -> Place:
        if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", chat):
            raise BadInput(f'"{chat}" is not a topic.', hint="A topic has letters, digits, - and _, at most 64.")
        return Place(platform=NAME, chat=chat, name=chat)

    async def close(self) -> None:
        await self._http.close()
