"""Home Assistant adapter: events become messages, answers become notifications.

An automation writes to Sojourn with the event `sojourn_message` and its `text`; state changes of the configured
entities are messages too. A chat is a notify service, like mobile_app_phone. Home Assistant stores no events for us:
those fired while we are disconnected are lost.
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
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import BotProfile, Inbound, PlatformInfo, Sent

_MAX_CHARS = 4000
_STATE_CHANGED = "state_changed"


class HomeAssistant:
    """One Home Assistant server."""

    info = PlatformInfo(name=NAME, label="Home Assistant", max_chars=_MAX_CHARS, system=True)

    def __init__(self, app: PluginAccess) -> None:
        self._settings: HomeAssistantSettings = app.configured(NAME)
        self._url, self._token = self._settings.url.rstrip("/"), self._settings.token.reveal()
        self.account = f"{self._url}#{hashlib.sha256(self._token.encode()).hexdigest()[:12]}"
        self.home(self._settings.notify)  # BadInput if it is not valid
        self._http = RestClient("Home Assistant", self._url, key="SOJOURN_HOMEASSISTANT_TOKEN", token=self._token)

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            house = parse_body(await self._http.request("GET", "/api/config"))
        return BotProfile(name=read_text(house, "location_name") or "Home Assistant", address=self._url)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with open_socket("Home Assistant", f"{self._url}/api/websocket") as socket:
            await self._authenticate(socket)
            kinds = [*self._settings.events, *([_STATE_CHANGED] if self._settings.entities else [])]
            for number, kind in enumerate(kinds, 1):
                await socket.send({"id": number, "type": "subscribe_events", "event_type": kind})
            while True:
                message = await socket.receive()
                if message.get("type") == "result" and not message.get("success"):
                    why = (message.get("error") or {}).get("message", "")
                    raise PlatformDown(f"Home Assistant refuses the event subscription: {why}.")
                if message.get("type") == "event" and (inbound := self._to_inbound(message["event"])) is not None:
                    yield inbound

    async def _authenticate(self, socket: JsonSocket) -> None:
        while (message := await socket.receive()).get("type") != "auth_ok":
            if message.get("type") == "auth_invalid":
                raise self._http.to_key_refused()
            if message.get("type") == "auth_required":
                await socket.send({"type": "auth", "access_token": self._token})

    def _to_inbound(self, event: Mapping[str, Any]) -> Inbound | None:
        data, context = event.get("data") or {}, event.get("context") or {}
        id, place = str(context.get("id", "")), self._reply_place(data.get("chat"))
        text = data.get("text") if isinstance(data.get("text"), str) else json.dumps(data, ensure_ascii=False)
        sender = str(event.get("event_type"))  # the kind of event is who it is; what it says of itself is a name
        name = str(data.get("sender") or context.get("user_id") or "home")
        if sender == _STATE_CHANGED:
            sender = name = str(data.get("entity_id"))
            place = self._reply_place(None)
            if sender not in self._settings.entities or not (text := _describe_change(data)):
                return None
            id = f"{id}/{sender}"  # one cause may change several entities
        return Inbound(
            id=id,
            place=place,
            sender=Sender(id=sender, name=name),
            text=str(text)[:_MAX_CHARS],
            at=datetime.fromisoformat(event["time_fired"]).timestamp(),
        )

    def _reply_place(self, chat: object) -> Place:
        """The notify service that an event names, else the configured one."""
        try:
            return self.home(str(chat or self._settings.notify))
        except BadInput:
            return self.home(self._settings.notify)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        id = uuid.uuid4().hex
        message = {"title": "Sojourn", "message": text, "data": {"tag": id, "notification_id": id}}
        try:
            await self._http.request("POST", f"/api/services/notify/{place.chat}", json=message)
        except SendRefused as error:
            if error.kind != "bad_format":
                raise
            raise SendRefused(  # the answer for an unknown service
                f"Home Assistant has no notify service {place.chat}, or it refused the message.",
                kind="not_found",
                hint="See Developer tools, Actions, notify.",
            ) from error
        return Sent(place=place, id=id)

    def home(self, chat: str) -> Place:
        name = chat.strip().removeprefix("notify.")
        if not re.fullmatch(r"[a-z0-9_]{1,100}", name):
            raise BadInput(f'"{chat}" is not a notify service.', hint="Use a name like mobile_app_phone.")
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
