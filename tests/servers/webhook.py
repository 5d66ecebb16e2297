"""A webhook client: retries until its message is acknowledged as stored, and receives answers."""

import asyncio
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.webhook import WebhookSettings
from sojourn.platforms.webhook.adapter import Webhook, is_signature_valid, sign
from sojourn.ports.platform import File, PlatformAdapter
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.starlette_server import WebServer

SECRET = Secret("signed-271828182845")
_STATUS = {"forbidden": 403, "not_found": 404, "rate_limited": 429, "bad_format": 400}


class HookHarness:
    lacks: Mapping[str, str] = {
        "own messages": "answers go another way than questions",
        "other bots": "all who knock are machines",
        "a lost line": "we are the server, there is no line of ours",
        "a wrong key": "we show no key when we listen; others show theirs",
        "files in": "a knock has words only",
        "two people": "a route is one program, whatever names it gives",
    }
    threads: Sequence[PlaceKind] = ()
    chats: Mapping[PlaceKind, str] = {"dm": "deploys"}
    people = (Sender(id="deploys", name="builder"), Sender(id="quiet", name="tester"))
    secret = SECRET.reveal()

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []
        self._web = WebServer(Starlette(routes=[Route("/answers", self._take, methods=["POST"])]))
        self._refusal: tuple[int, dict[str, str]] | None = None
        self._knocking: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        self._door = f"http://127.0.0.1:{(port := free_port())}"
        routes = {
            "deploys": {"secret": SECRET.reveal(), "deliver": f"{self._web.url}/answers"},
            "quiet": {"secret": "x" * 20},
            "forge": {"secret": SECRET.reveal(), "signature": "hub"},
        }
        self.settings = WebhookSettings(port=port, routes=routes)
        self._kit = AdapterKit(self.settings)
        self.http = httpx2.AsyncClient(base_url=self._door, verify=False, timeout=5)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._knocking:
            task.cancel()
        await asyncio.gather(*self._knocking, return_exceptions=True)
        await self._kit.close()
        await self.http.aclose()
        await self._web.__aexit__()

    def connect(self) -> Webhook:
        return Webhook(With(self._kit, self.settings))

    def connect_wrongly(self) -> PlatformAdapter:
        raise NotImplementedError

    async def _take(self, request: Request) -> Response:
        body = await request.body()
        assert is_signature_valid(SECRET, request.headers, body, time.time())
        if self._refusal:
            (status, headers), self._refusal = self._refusal, None
            return JSONResponse({"error": "no"}, status, headers)
        self.got.append(json.loads(body))
        return JSONResponse({})

    async def until_listening(self) -> None:
        while True:
            try:
                await self.http.get("/")
                return
            except httpx2.TransportError:
                await asyncio.sleep(0.01)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        """One after the other, as a queue does."""
        id = uuid.uuid4().hex
        body = json.dumps({"id": id, "text": text, "sender": by.name}).encode()
        self._last = asyncio.create_task(self._knock(place.chat, body, self._last))
        self._knocking.add(self._last)
        return f"{place.chat}/{id}"

    async def _knock(self, route: str, body: bytes, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        while True:
            try:
                reply = await self.http.post(f"/webhook/{route}", content=body, headers=sign(SECRET, body, time.time()))
                if reply.status_code == 202:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.05)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return [
            PostedMessage(id=one["id"], text=one["text"], by="sojourn")
            for one in self.got
            if one["route"] == place.chat
        ]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self._refusal = (_STATUS[kind], {"Retry-After": f"{retry_after:g}"} if retry_after else {})

    async def drop_connections(self) -> None:
        raise NotImplementedError

    async def break_sending(self) -> None:
        self._web.dead = True

    async def close(self) -> None: ...
