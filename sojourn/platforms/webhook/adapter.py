"""Webhook adapter: each route is a chat with a program, which sends signed requests and receives signed answers.

A request gets status 202 when its message is stored. After any other status the program should send it again: the same
`id`, or the same body, is the same message, and nothing is done twice. A route takes one kind of signature. Ours covers
the time and the body: `X-Sojourn-Signature: sha256=<HMAC of "<X-Sojourn-Timestamp>.<body>">`. `X-Hub-Signature-256`
covers the body alone and is valid for ever, so its messages are remembered for ever.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import socket
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.core.settings import Secret
from sojourn.http_limits import limited_config
from sojourn.platforms.refusals import check_length
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.webhook import WebhookRoute, WebhookSettings
from sojourn.platforms.webhook.received import ReceivedRequests
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import Inbound, PlatformInfo, Sent

NAME = "webhook"
_MAX_CHARS = 20_000
_MAX_BODY_BYTES = 1_000_000  # bytes
_KEEP_TIMEOUT_SECONDS = 30.0  # for storing the message of a request


@dataclass(frozen=True, slots=True)
class _PendingRequest:
    inbound: Inbound
    stored: asyncio.Future[None]
    is_lasting: bool  # its signature never expires


class Webhook:
    """One HTTP server with several routes."""

    info = PlatformInfo(name=NAME, label="Webhook", max_chars=_MAX_CHARS, system=True)

    def __init__(self, app: PluginContext) -> None:
        self._received = ReceivedRequests(app.store)
        settings: WebhookSettings = app.configured(NAME)
        self._host, self._port, self._routes = settings.host, settings.port, settings.parse_routes()
        self.account = f"{self._host}:{self._port}"
        self._requests: asyncio.Queue[_PendingRequest] = asyncio.Queue()
        self._futures: set[asyncio.Future[None]] = set()  # one for each request whose message is not stored yet
        self._clients = {
            name: RestClient(f'The receiver of "{name}"', route.deliver, key=f"the secret of the route {name}")
            for name, route in self._routes.items()
            if route.deliver
        }

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self._received.prune()
        async with self._serve():
            while True:
                pending = await self._requests.get()
                if pending.stored.done():  # the request timed out; the program sends it again
                    continue
                yield pending.inbound
                await self._received.add(pending.inbound.id, is_lasting=pending.is_lasting)
                if not pending.stored.done():
                    pending.stored.set_result(None)

    @asynccontextmanager
    async def _serve(self) -> AsyncGenerator[None, None]:
        """Runs uvicorn inside our event loop, without its signal handlers."""
        try:
            server_socket = socket.create_server((self._host, self._port))
        except OSError as error:
            raise PlatformDown(
                f"The webhook server cannot listen on {self.account}: {error.strerror or error}.",
                hint="Set another `port` under [plugins.webhook].",
            ) from error
        app = Starlette(routes=[Route("/webhook/{route}", self._handle_request, methods=["POST"])])
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="off", ws="none", **limited_config()
        )
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        await server.startup([server_socket])
        try:
            yield
        finally:
            for future in self._futures:
                future.cancel()
            for one in server.servers:
                one.close()
            for connection in list(server.server_state.connections):
                connection.shutdown()

    async def _handle_request(self, request: Request) -> Response:
        route = self._routes.get(request.path_params["route"])
        try:
            body = await _read_body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if body is None:
            return JSONResponse({"error": f"at most {_MAX_BODY_BYTES} bytes"}, 413)
        # The same answer for both cases: who cannot sign must not learn which routes exist.
        if route is None or not _is_signed(route, request.headers, body):
            return JSONResponse({"error": "no such route, or not signed as it demands"}, 401)
        inbound, is_lasting = _to_inbound(route, request, body), route.signature == "hub"
        if await self._received.has(inbound.id):
            return JSONResponse({"status": "kept", "id": inbound.id, "repeated": True}, 202)
        pending = _PendingRequest(inbound, asyncio.get_running_loop().create_future(), is_lasting)
        self._requests.put_nowait(pending)
        self._futures.add(pending.stored)
        await asyncio.wait({pending.stored}, timeout=_KEEP_TIMEOUT_SECONDS)
        self._futures.discard(pending.stored)
        if not pending.stored.done() or pending.stored.cancelled():
            pending.stored.cancel()
            return JSONResponse({"error": "not stored; send it again"}, 503, {"Retry-After": "5"})
        return JSONResponse({"status": "kept", "id": pending.inbound.id}, 202)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        route = self._routes.get(place.chat)
        if route is None or not route.deliver:
            raise SendRefused(
                f'The route "{place.chat}" has no address to deliver answers to.',
                kind="not_found" if route is None else "forbidden",
                hint=f"Set `deliver` under [plugins.webhook.routes.{place.chat}].",
            )
        id = uuid.uuid4().hex
        message = {"id": id, "route": route.name, "text": text, "format": "plain" if plain else "markdown"}
        body = json.dumps(message | {"reply_to": reply_to}, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json", **sign(route.secret, body, time.time())}
        await self._clients[route.name].request("POST", route.deliver, content=body, headers=headers)
        return Sent(place=place, id=id)

    def home(self, chat: str) -> Place:
        if chat not in self._routes:
            raise BadInput(f'There is no route "{chat}".', hint=f"Choose from: {', '.join(self._routes)}.")
        return place_from_route(chat)

    async def close(self) -> None:
        for client in self._clients.values():
            await client.close()


def place_from_route(route: str) -> Place:
    return Place(platform=NAME, chat=route, name=route)


async def _read_body(request: Request) -> bytes | None:
    """None if it is longer than the limit."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > _MAX_BODY_BYTES:
            return None
    return bytes(found)


def _to_inbound(route: WebhookRoute, request: Request, body: bytes) -> Inbound:
    """Builds the id only from signed content, so that nobody can repeat a message under another id."""
    document: Any = None
    with suppress(ValueError):
        document = json.loads(body)
    fields = document if isinstance(document, dict) else {}
    if route.signature == "hub":  # a number in a service's body names a thing, not the message
        id = hashlib.sha256(body).hexdigest()
    else:
        stamp = request.headers.get("x-sojourn-timestamp", "")
        id = str(fields.get("id") or hashlib.sha256(stamp.encode() + b"." + body).hexdigest())
    text = fields.get("text")
    if not isinstance(text, str):
        event = request.headers.get("x-github-event") or request.headers.get("x-event") or ""
        text = f"{event}\n{body.decode(errors='replace')}".strip()[:_MAX_CHARS]
    name = fields.get("sender")  # for people to read; the route is who it is
    return Inbound(
        id=f"{route.name}/{id}",
        place=place_from_route(route.name),
        text=text,
        at=time.time(),
        sender=Sender(id=route.name, name=name if isinstance(name, str) and name else route.name),
    )


_MAX_AGE_SECONDS = 300.0  # of a signature of ours


def sign(secret: Secret, body: bytes, now: float) -> dict[str, str]:
    stamp = str(int(now))
    return {"X-Sojourn-Timestamp": stamp, "X-Sojourn-Signature": _compute_mac(secret, stamp.encode() + b"." + body)}


def _is_signed(route: WebhookRoute, headers: Mapping[str, str], body: bytes) -> bool:
    check = is_hub_signature_valid if route.signature == "hub" else is_signature_valid
    return check(route.secret, headers, body, time.time())


def is_signature_valid(secret: Secret, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Checks our signature. `headers` has lower-case names."""
    stamp, given = headers.get("x-sojourn-timestamp", ""), headers.get("x-sojourn-signature", "")
    fresh = stamp.isascii() and stamp.isdecimal() and len(stamp) < 16 and abs(now - int(stamp)) <= _MAX_AGE_SECONDS
    return _is_equal(given, _compute_mac(secret, stamp.encode() + b"." + body)) and fresh


def is_hub_signature_valid(secret: Secret, headers: Mapping[str, str], body: bytes, _: float) -> bool:
    """Checks the signature of GitHub and others, which covers the body alone."""
    return _is_equal(headers.get("x-hub-signature-256", ""), _compute_mac(secret, body))


def _compute_mac(secret: Secret, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.reveal().encode(), body, hashlib.sha256).hexdigest()


def _is_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())
