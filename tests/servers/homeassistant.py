"""A server with Home Assistant's protocol (websocket and services), and the test harness of `homeassistant`."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.homeassistant import HomeAssistantSettings
from sojourn.platforms.homeassistant.adapter import HomeAssistant
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import With
from tests.servers.starlette_server import WebHarness

TOKEN = "eyJ-house-2718281828"
SERVICES = ("mobile_app_phone", "persistent_notification")
_STATUS = {"forbidden": 403, "not_found": 400}  # a service that is not there is a bad request


class House:
    """As documented for the websocket API: log in, subscribe to kinds of events, be told."""

    def __init__(self) -> None:
        self.notified: list[tuple[str, dict[str, Any]]] = []
        self.refusal = 0
        self.told: dict[WebSocket, dict[str, int]] = {}  # which kinds of events, by which number
        self.app = Starlette(
            routes=[
                Route("/api/services/notify/{service}", self._notify, methods=["POST"]),
                Route("/api/config", self._config),
                WebSocketRoute("/api/websocket", self._socket),
            ]
        )

    async def _config(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return PlainTextResponse("401: Unauthorized", 401)
        return JSONResponse({"location_name": "The garden", "version": "2026.10.4"})

    async def _notify(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return PlainTextResponse("401: Unauthorized", 401)
        service = request.path_params["service"]
        if self.refusal or service not in SERVICES:
            status, self.refusal = self.refusal or 400, 0
            return PlainTextResponse(f"{status}: refused", status)
        self.notified.append((service, await request.json()))
        return JSONResponse([])

    async def _socket(self, line: WebSocket) -> None:
        await line.accept()
        await line.send_json({"type": "auth_required", "ha_version": "2026.10.4"})
        if (await line.receive_json()).get("access_token") != TOKEN:
            await line.send_json({"type": "auth_invalid", "message": "Invalid access token or password"})
            await line.close()
            return
        await line.send_json({"type": "auth_ok", "ha_version": "2026.10.4"})
        self.told[line] = {}
        try:
            while True:
                asked = await line.receive_json()
                self.told[line][asked["event_type"]] = asked["id"]
                await line.send_json({"id": asked["id"], "type": "result", "success": True, "result": None})
        except WebSocketDisconnect:
            pass
        finally:
            del self.told[line]

    async def fire(self, kind: str, data: Mapping[str, Any]) -> str:
        context = {"id": uuid.uuid4().hex, "parent_id": None, "user_id": None}
        event = {"event_type": kind, "data": data, "origin": "LOCAL", "context": context}
        event["time_fired"] = datetime.now(UTC).isoformat()
        for line, kinds in self.told.items():
            if kind in kinds:
                await line.send_json({"id": kinds[kind], "type": "event", "event": event})
        return str(context["id"])


class HouseHarness(WebHarness):
    lacks: Mapping[str, str] = {
        "told again": "the house keeps no events for us",
        "own messages": "a notification is no event we listen to",
        "other bots": "everything in a house is a machine",
        "bad format": "a notification takes any text",
        "rate limit": "the house takes what it is given",
        "files in": "events have no files",
        "two people": "a kind of event is one person, whatever names it gives",
    }
    threads: Sequence[PlaceKind] = ()
    chats: Mapping[PlaceKind, str] = {"dm": "mobile_app_phone"}
    people = (Sender(id="sojourn_message", name="m"), Sender(id="another_event", name="n"))
    secret = TOKEN

    def __init__(self) -> None:
        self.house = House()
        super().__init__(self.house.app, self.house.told)

    def connect(self, token: str = TOKEN, **more: Any) -> HomeAssistant:
        settings = HomeAssistantSettings(url=self._web.url, token=Secret(token), **more)
        return HomeAssistant(With(self._kit, settings))

    def connect_wrongly(self) -> HomeAssistant:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        while not any(self.house.told.values()):
            await asyncio.sleep(0.01)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        return await self.house.fire("sojourn_message", {"text": text, "chat": place.chat, "sender": by.id})

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        there = [said for service, said in self.house.notified if service == place.chat]
        return [PostedMessage(id=said["data"]["tag"], text=said["message"], by="sojourn") for said in there]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.house.refusal = _STATUS[kind]
