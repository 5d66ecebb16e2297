"""homeassistant: what happens at home comes in as messages, answers go out as notifications.

An automation speaks to Sojourn by firing the event `sojourn_message` with a `text`; the entities that are named in
the settings speak by themselves when they change. A chat is a notify service, like mobile_app_phone. The house keeps
nothing for us: what happens while the line is lost is not heard.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.homeassistant import NAME, HomeAssistantSettings
from sojourn.platforms.json_socket import JsonSocket, open_socket
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import Inbound, PlatformInfo, Sent

_MAX_CHARS = 4000
_STATE_CHANGED = "state_changed"


class HomeAssistant:
    """One house."""

    info = PlatformInfo(name=NAME, label="Home Assistant", max_chars=_MAX_CHARS, system=True)

    def __init__(self, kit: PluginAccess) -> None:
        self._settings: HomeAssistantSettings = kit.configured(NAME)
        self._url, self._token = self._settings.url.rstrip("/"), self._settings.token.reveal()
        self.account = f"{self._url}#{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"
        self.home(self._settings.notify)  # said now if it is none
        headers = {"Authorization": f"Bearer {self._token}"}
        self._http = RestClient("Home Assistant", self._url, key="SOJOURN_HOMEASSISTANT_TOKEN", headers=headers)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with open_socket("Home Assistant", f"{self._url}/api/websocket") as socket:
            await self._enter(socket)
            kinds = [*self._settings.events, *([_STATE_CHANGED] if self._settings.entities else [])]
            for number, kind in enumerate(kinds, 1):
                await socket.send({"id": number, "type": "subscribe_events", "event_type": kind})
            while True:
                said = await socket.receive()
                if said.get("type") == "result" and not said.get("success"):
                    why = (said.get("error") or {}).get("message", "")
                    raise PlatformDown(f"Home Assistant does not tell us its events: {why}.")
                if said.get("type") == "event" and (heard := self._to_inbound(said["event"])) is not None:
                    yield heard

    async def _enter(self, socket: JsonSocket) -> None:
        while (said := await socket.receive()).get("type") != "auth_ok":
            if said.get("type") == "auth_invalid":
                raise self._http.to_key_refused()
            if said.get("type") == "auth_required":
                await socket.send({"type": "auth", "access_token": self._token})

    def _to_inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        data, context = event.get("data") or {}, event.get("context") or {}
        id, place = str(context.get("id", "")), self._answers_to(data.get("chat"))
        text = data.get("text") if isinstance(data.get("text"), str) else json.dumps(data, ensure_ascii=False)
        sender = str(data.get("sender") or context.get("user_id") or "home")
        if event.get("event_type") == _STATE_CHANGED:
            sender, place = str(data.get("entity_id")), self._answers_to(None)
            if sender not in self._settings.entities or not (text := _describe_change(data)):
                return None
            id = f"{id}/{sender}"  # one cause may change several things
        return Inbound(
            id=id,
            place=place,
            sender=Sender(id=sender, name=sender),
            text=str(text)[:_MAX_CHARS],
            at=datetime.fromisoformat(event["time_fired"]).timestamp(),
        )

    def _answers_to(self, chat: object) -> Place:
        """What an event says, if it names a notify service."""
        try:
            return self.home(str(chat or self._settings.notify))
        except BadInput:
            return self.home(self._settings.notify)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if len(text) > _MAX_CHARS:
            raise SendRefused(f"{len(text):,} characters are too many for one notification.", kind="too_long")
        id = uuid.uuid4().hex
        said = {"title": "Sojourn", "message": text, "data": {"tag": id, "notification_id": id}}
        try:
            await self._http.request("POST", f"/api/services/notify/{place.chat}", json=said)
        except SendRefused as error:
            if error.kind != "bad_format":
                raise
            raise SendRefused(  # that is how it says that there is no such service
                f"The house has no notify service {place.chat}, or does not take this.",
                kind="not_found",
                hint="See Developer tools, Actions, notify.",
            ) from error
        return Sent(place=place, id=id)

    def home(self, chat: str) -> Place:
        name = chat.strip().removeprefix("notify.")
        if not re.fullmatch(r"[a-z0-9_]{1,100}", name):
            raise BadInput(f'"{chat}" is not a notify service.', hint="Like mobile_app_phone.")
        return Place(platform=NAME, chat=name, name=name)

    async def close(self) -> None:
        await self._http.close()


def _describe_change(data: Mapping[str, Any]) -> str:
    """Empty when only attributes changed."""
    old, new = data.get("old_state") or {}, data.get("new_state") or {}
    if old.get("state") == new.get("state"):
        return ""
    name = (new.get("attributes") or {}).get("friendly_name") or data["entity_id"]
    return f"{name}: {old.get('state', 'unknown')} → {new.get('state', 'gone')}"
