"""ntfy: one topic is one chat. No threads and no edits there, so neither method is here.

A topic has no members: whoever knows it writes, under any title. The title is taken for the name of the sender, so
protect the topic, or let its name be a secret. What we say carries a tag, by which we do not listen to ourselves.
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
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import File, Inbound, PlatformInfo, Sent

_MAX_BYTES = 4096  # bytes; what is longer becomes a file there
_OWN_TAG = "sojourn"
_SILENCE_SECONDS = 120.0  # seconds; the server gives a sign of life every 45


class Ntfy:
    """One topic on one server."""

    info = PlatformInfo(name=NAME, label="ntfy", max_chars=_MAX_BYTES, counting="bytes")

    def __init__(self, kit: PluginContext) -> None:
        self._settings: NtfySettings = kit.configured(NAME)
        self.account = f"{self._settings.server.rstrip('/')}/{self._settings.topic}"
        self._here = self.home(self._settings.topic)
        token = self._settings.token.reveal()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = RestClient("ntfy", self._settings.server, key="SOJOURN_NTFY_TOKEN", headers=headers)
        self._cursor = CursorStore(kit.store, NAME, self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        kept = await self._cursor.load()
        if not kept:  # from now on, also if the line is lost before the first message
            kept = {"since": str(int(time.time()))}
            await self._cursor.save(kept)
        patience = httpx2.Timeout(_SILENCE_SECONDS, connect=10.0)
        path = f"/{self._settings.topic}/json"
        async with self._http.stream(path, params={"since": kept["since"]}, timeout=patience) as lines:
            async for line in lines.aiter_lines():
                said = json.loads(line) if line.strip() else {}
                if said.get("event") == "message" and _OWN_TAG not in (said.get("tags") or ()):
                    yield await self._to_inbound(said)
                    await self._cursor.save({"since": said["id"]})
        raise self._http.to_platform_down(EOFError("the line was closed"))

    async def _to_inbound(self, said: Mapping[str, Any]) -> Inbound:
        who, text, files = str(said.get("title") or "someone"), str(said.get("message", "")), tuple[File, ...]()
        try:
            files = await self._files(said.get("attachment"))
        except SendRefused as error:  # said instead of lost; they are kept for hours only
            text = f"{text}\n[The file cannot be read: {error}]".strip()
        return Inbound(
            id=str(said["id"]),
            place=self._here,
            sender=Sender(id=who, name=who),
            text=text,
            files=files,
            at=float(said.get("time", 0)),
        )

    async def _files(self, attached: Mapping[str, Any] | None) -> tuple[File, ...]:
        """Only what lies on the same server: an address in a message could lead anywhere."""
        server = self._settings.server.rstrip("/")
        if not attached or not str(attached.get("url", "")).startswith(f"{server}/file/"):
            return ()
        got = await self._http.request("GET", str(attached["url"]).removeprefix(server))
        kind = str(attached.get("type") or "application/octet-stream")
        return (File(name=str(attached.get("name", "file")), media_type=kind, data=got.content),)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if len(text.encode()) > _MAX_BYTES:
            raise SendRefused(f"{len(text.encode()):,} bytes are too many for one message.", kind="too_long")
        said = {"topic": place.chat, "message": text, "tags": [_OWN_TAG], "title": "Sojourn", "markdown": not plain}
        reply = await self._http.request("POST", "/", json=said)
        return Sent(place=place, id=str(reply.json()["id"]))

    def home(self, chat: str) -> Place:
        if not re.fullmatch(r"[-_A-Za-z0-9]{1,64}", chat):
            raise BadInput(f'"{chat}" is not a topic.', hint="A topic has letters, digits, - and _, at most 64.")
        return Place(platform=NAME, chat=chat, name=chat)

    async def close(self) -> None:
        await self._http.close()
