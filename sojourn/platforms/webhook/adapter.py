"""Webhook adapter: each route is a chat with a program, which sends signed requests and receives signed answers.

A request gets status 202 when its message is stored. After any other status the program should send it again: the same
`id`, or the same body, is the same message, and nothing is done twice. A route takes one kind of signature. Ours covers
the time and the body: `X-Sojourn-Signature: sha256=<HMAC of "<X-Sojourn-Timestamp>.<body>">`. `X-Hub-Signature-256`
covers the body alone and is valid for ever, so its messages are remembered for ever.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.answer_delivery import AnswerDelivery
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.refusals import check_length
from sojourn.platforms.request_checks import RequestRefused, compute_hub_signature, is_equal, parse_request_json
from sojourn.platforms.webhook import WebhookRoute, WebhookSettings
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import Inbound, PlatformInfo, Sent

NAME = "webhook"
_MAX_CHARS = 20_000
_STORE_TIMEOUT_SECONDS = 30.0  # for storing the message of a request


class Webhook:
    """One HTTP server with several routes."""

    info = PlatformInfo(name=NAME, label="Webhook", max_chars=_MAX_CHARS, system=True)

    def __init__(self, app: PluginContext) -> None:
        settings: WebhookSettings = app.configured(NAME)
        self._routes = settings.parse_routes()
        self.account = f"{settings.host}:{settings.port}"
        self._receiver = HttpReceiver(
            app.store, NAME, settings, self._read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS
        )
        self._answers = AnswerDelivery("[plugins.webhook.routes.{}]")
        for name, route in self._routes.items():
            self._answers.add(name, route.deliver, route.secret)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with aclosing(self._receiver.receive()) as messages:
            async for inbound in messages:
                yield inbound

    async def _read_request(self, request: IncomingRequest) -> Delivery[Inbound]:
        route = self._routes.get(request.path)
        if request.method != "POST" or route is None or not _is_signed(route, request.headers, request.body):
            raise RequestRefused("there is no such route, or it is not signed as the route demands")
        inbound = _to_inbound(route, request)
        kept = {"status": "kept", "id": inbound.id}
        return Delivery(
            items=((inbound.id, inbound),),
            answer=_to_accepted(kept),
            repeated_answer=_to_accepted(kept | {"repeated": True}),
            is_lasting=route.signature == "hub",
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        return await self._answers.post(place, text, plain=plain, reply_to=reply_to)

    def home(self, chat: str) -> Place:
        if chat not in self._routes:
            raise BadInput(f'There is no route "{chat}".', hint=f"Choose from: {', '.join(self._routes)}.")
        return place_from_route(chat)

    async def close(self) -> None:
        await self._answers.close()


def place_from_route(route: str) -> Place:
    return Place(platform=NAME, chat=route, name=route)


def _to_accepted(document: dict[str, Any]) -> RequestAnswer:
    return RequestAnswer(status=202, body=json.dumps(document).encode())


def _to_inbound(route: WebhookRoute, request: IncomingRequest) -> Inbound:
    """Builds the id only from signed content, so that nobody can repeat a message under another id."""
    body, fields = request.body, {}
    with suppress(RequestRefused):  # a body that is no JSON object is the message itself
        fields = parse_request_json(body)
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


def _is_signed(route: WebhookRoute, headers: Mapping[str, str], body: bytes) -> bool:
    check = is_hub_signature_valid if route.signature == "hub" else is_signature_valid
    return check(route.secret, headers, body, time.time())


def is_signature_valid(secret: Secret, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """Checks our signature. `headers` has lower-case names."""
    stamp, given = headers.get("x-sojourn-timestamp", ""), headers.get("x-sojourn-signature", "")
    fresh = stamp.isascii() and stamp.isdecimal() and len(stamp) < 16 and abs(now - int(stamp)) <= _MAX_AGE_SECONDS
    return is_equal(given, compute_hub_signature(secret, stamp.encode() + b"." + body)) and fresh


def is_hub_signature_valid(secret: Secret, headers: Mapping[str, str], body: bytes, _: float) -> bool:
    """Checks the signature of GitHub and others, which covers the body alone."""
    return is_equal(headers.get("x-hub-signature-256", ""), compute_hub_signature(secret, body))
