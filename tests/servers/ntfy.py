"""A server with ntfy's protocol (publish, subscribe to JSON lines, files), and the test harness of `ntfy`."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Any, Self

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.ntfy import NtfySettings
from sojourn.platforms.ntfy.adapter import Ntfy
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.starlette_server import WebServer

TOKEN = "tk_271828182845904523536028747135"


class NtfyServer:
    """As documented for ntfy 2: keeps messages for hours and tells them again `since` one of them or a time."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.refusal: tuple[int, dict[str, str]] | None = None
        self.listeners = 0
        self.changed = asyncio.Event()
        self._numbers = count(1)
        self.app = Starlette(
            routes=[
                Route("/", self._publish_json, methods=["POST"]),
                Route("/file/{name}", self._file),
                Route("/{topic}/json", self._subscribe),
                Route("/{topic}", self._publish, methods=["PUT", "POST"]),
            ]
        )

    def _denied(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"code": 40101, "http": 401, "error": "unauthorized"}, 401)
        return None

    def _keep(self, request: Request, topic: str, **more: Any) -> Response:
        id = f"{next(self._numbers):012}"
        message = {"id": id, "time": int(time.time()), "event": "message", "topic": topic, **more}
        self.messages.append(message)
        self.changed.set()
        return JSONResponse(message)

    async def _publish_json(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if self.refusal:
            (status, headers), self.refusal = self.refusal, None
            return JSONResponse({"code": status * 100, "http": status, "error": "refused"}, status, headers)
        said = await request.json()
        if len(said["message"].encode()) > 4096:
            return JSONResponse({"code": 41301, "http": 413, "error": "message too large"}, 413)
        return self._keep(request, **said)

    async def _publish(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        about: dict[str, Any] = {key: request.headers[key] for key in ("title", "message") if key in request.headers}
        about |= {"tags": request.headers["tags"].split(",")} if "tags" in request.headers else {}
        name, body = request.headers.get("filename"), await request.body()
        if not name:
            return self._keep(request, request.path_params["topic"], **({"message": body.decode()} | about))
        self.files[name] = body
        url = f"{request.url.scheme}://{request.url.netloc}/file/{name}"
        file = {"name": name, "type": request.headers["content-type"], "size": len(body), "url": url}
        return self._keep(request, request.path_params["topic"], attachment=file, **about)

    async def _file(self, request: Request) -> Response:
        found = self.files.get(request.path_params["name"])
        return Response(status_code=404) if found is None else Response(found)

    async def _subscribe(self, request: Request) -> Response:
        topic, since = request.path_params["topic"], request.query_params.get("since", "")
        if request.query_params.get("poll") and not self._denied(request):
            return Response(media_type="application/x-ndjson")
        return self._denied(request) or StreamingResponse(self._lines(topic, since), media_type="application/x-ndjson")

    async def _lines(self, topic: str, since: str) -> AsyncIterator[str]:
        ids = [one["id"] for one in self.messages]
        at = ids.index(since) + 1 if since in ids else 0
        if since not in ids and len(since) == 10:  # a time
            at = next((n for n, one in enumerate(self.messages) if one["time"] >= int(since)), len(ids))
        yield json.dumps({"event": "open", "topic": topic}) + "\n"
        self.listeners += 1
        self.changed.set()
        try:
            while True:
                for message in self.messages[at:]:
                    if message["topic"] == topic:
                        yield json.dumps(message) + "\n"
                at = len(self.messages)
                self.changed.clear()
                await self.changed.wait()
        finally:
            self.listeners -= 1


class NtfyHarness:
    lacks: Mapping[str, str] = {
        "bad format": "a topic takes any text",
        "not found": "a topic is made by writing to it",
        "two people": "a topic proves nothing about who writes, so it is one person",
    }
    threads: Sequence[PlaceKind] = ()
    chats: Mapping[PlaceKind, str] = {"dm": "garden"}
    people = (Sender(id="garden", name="Ann"), Sender(id="garden", name="Ben"))
    secret = TOKEN

    def __init__(self) -> None:
        self.server = NtfyServer()
        self._web = WebServer(self.server.app)

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        self._http = httpx2.AsyncClient(
            base_url=self._web.url, verify=False, headers={"Authorization": f"Bearer {TOKEN}"}
        )
        self._kit = AdapterKit(None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._kit.close()
        await self._http.aclose()
        await self._web.__aexit__()

    @property
    def url(self) -> str:
        return self._web.url

    def connect(self, token: str = TOKEN) -> Ntfy:
        settings = NtfySettings(topic="garden", server=self._web.url, token=Secret(token))
        return Ntfy(With(self._kit, settings))

    def connect_wrongly(self) -> Ntfy:
        return self.connect("tk_wrong")

    async def until_listening(self) -> None:
        while not self.server.listeners:
            await asyncio.sleep(0.01)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        headers = {"Title": by.name, **({"Tags": "sojourn"} if by.is_bot else {})}
        body: bytes = text.encode()
        for file in files:
            headers |= {"Filename": file.name, "Content-Type": file.media_type, "Message": text}
            body = file.data
        reply = await self._http.put(f"/{place.chat}", content=body, headers=headers)
        return str(reply.raise_for_status().json()["id"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return [
            PostedMessage(
                id=one["id"], text=one["message"], by="" if "sojourn" in (one.get("tags") or ()) else one["topic"]
            )
            for one in self.server.messages
            if one["topic"] == place.chat
        ]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        status = {"rate_limited": 429, "forbidden": 403}[kind]
        self.server.refusal = (status, {"Retry-After": f"{retry_after:g}"} if retry_after else {})

    async def drop_connections(self) -> None:
        self._web.drop_connections()

    async def break_sending(self) -> None:
        self._web.dead = True

    async def close(self) -> None: ...
