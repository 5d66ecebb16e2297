"""webhook: each route is a chat with a program. It knocks with a signed request; answers are posted to it, signed.

A knock is answered with 202 when its message is safely kept. Whoever gets anything else should knock again: the same
`id`, or the same body, is the same message.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as At

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.webhook import WebhookRoute, WebhookSettings
from sojourn.platforms.webhook.signature import is_signature_valid, sign
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import Inbound, PlatformInfo, Sent

NAME = "webhook"
_MAX_CHARS = 20_000
_MAX_BODY_BYTES = 1_000_000  # bytes
_KEEP_TIMEOUT_SECONDS = 30.0  # seconds a knock waits until its message is kept


@dataclass(frozen=True, slots=True)
class _PendingRequest:
    heard: Inbound
    kept: asyncio.Future[None]


class Webhook:
    """One door with several routes."""

    info = PlatformInfo(name=NAME, label="Webhook", max_chars=_MAX_CHARS, system=True)

    def __init__(self, kit: PluginAccess) -> None:
        settings: WebhookSettings = kit.configured(NAME)
        self._host, self._port, self._routes = settings.host, settings.port, settings.each()
        self.account = f"{self._host}:{self._port}"
        self._knocks: asyncio.Queue[_PendingRequest] = asyncio.Queue()
        self._waiting: set[asyncio.Future[None]] = set()  # for being kept
        self._lines = {
            one.name: RestClient(
                f'The receiver of "{one.name}"', one.deliver, key=f"the secret of the route {one.name}"
            )
            for one in self._routes.values()
            if one.deliver
        }

    # hearing
    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with self._serve():
            while True:
                knock = await self._knocks.get()
                if knock.kept.done():  # gave up waiting; it knocks again
                    continue
                yield knock.heard
                if not knock.kept.done():
                    knock.kept.set_result(None)

    @asynccontextmanager
    async def _serve(self) -> AsyncGenerator[None, None]:
        """uvicorn without its own loop: it minds neither signals nor a life of its own here."""
        try:
            listening = socket.create_server((self._host, self._port))
        except OSError as error:
            raise PlatformDown(
                f"Nothing can listen on {self.account}: {error.strerror or error}.",
                hint="Set another `port` under [plugins.webhook].",
            ) from error
        app = Starlette(routes=[At("/webhook/{route}", self._handle_request, methods=["POST"])])
        config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False, lifespan="off", ws="none")
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup([listening])
        try:
            yield
        finally:
            for waiting in self._waiting:
                waiting.cancel()
            for one in server.servers:
                one.close()
            for line in list(server.server_state.connections):
                line.shutdown()

    async def _handle_request(self, request: Request) -> Response:
        route = self._routes.get(request.path_params["route"])
        try:
            body = await _read_body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return JSONResponse({"error": f"at most {_MAX_BODY_BYTES} bytes"}, 413)
        # Whether there is such a route is nobody's business who cannot sign for it.
        if route is None or not is_signature_valid(route.secret, request.headers, body, time.time()):
            return JSONResponse({"error": "no such route, or not signed with its secret"}, 401)
        knock = _PendingRequest(_to_inbound(route, request, body), asyncio.get_running_loop().create_future())
        self._knocks.put_nowait(knock)
        self._waiting.add(knock.kept)
        await asyncio.wait({knock.kept}, timeout=_KEEP_TIMEOUT_SECONDS)
        self._waiting.discard(knock.kept)
        if not knock.kept.done() or knock.kept.cancelled():
            knock.kept.cancel()
            return JSONResponse({"error": "not kept; knock again"}, 503, {"Retry-After": "5"})
        return JSONResponse({"status": "kept", "id": knock.heard.id}, 202)

    # sending
    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if len(text) > _MAX_CHARS:
            raise SendRefused(f"{len(text):,} characters are too many for one message.", kind="too_long")
        route = self._routes.get(place.chat)
        if route is None or not route.deliver:
            raise SendRefused(
                f'The route "{place.chat}" has nowhere to deliver answers to.',
                kind="not_found" if route is None else "forbidden",
                hint=f"Set `deliver` under [plugins.webhook.routes.{place.chat}].",
            )
        id = uuid.uuid4().hex
        said = {"id": id, "route": route.name, "text": text, "format": "plain" if plain else "markdown"}
        body = json.dumps(said | {"reply_to": reply_to}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **sign(route.secret, body, time.time())}
        await self._lines[route.name].request("POST", route.deliver, content=body, headers=headers)
        return Sent(place=place, id=id)

    def home(self, chat: str) -> Place:
        if chat not in self._routes:
            raise BadInput(f'There is no route "{chat}".', hint=f"There are: {', '.join(self._routes)}.")
        return place_from_route(chat)

    async def close(self) -> None:
        for line in self._lines.values():
            await line.close()


def place_from_route(route: str) -> Place:
    return Place(platform=NAME, chat=route, name=route)


async def _read_body(request: Request) -> bytes | None:
    """None if it is more than we take."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > _MAX_BODY_BYTES:
            return None
    return bytes(found)


def _to_inbound(route: WebhookRoute, request: Request, body: bytes) -> Inbound:
    """The id is made of what is signed alone, so that nobody can repeat a message under another one."""
    text = body.decode(errors="replace")
    try:
        told: Any = json.loads(body)
    except ValueError:
        told = None
    about = told if isinstance(told, dict) else {}
    stamp = request.headers.get("x-sojourn-timestamp", "")
    id = str(about.get("id") or hashlib.sha256(stamp.encode() + b"." + body).hexdigest())
    said = about.get("text")
    if not isinstance(said, str):
        event = request.headers.get("x-github-event") or request.headers.get("x-event") or ""
        said = f"{event}\n{text}".strip()[:_MAX_CHARS]
    who = about.get("sender")
    sender = who if isinstance(who, str) and who else route.name
    return Inbound(
        id=f"{route.name}/{id}",
        place=place_from_route(route.name),
        text=said,
        at=time.time(),
        sender=Sender(id=sender, name=sender),
    )
