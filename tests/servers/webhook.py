"""A webhook client: retries until its message is acknowledged as stored, and receives answers."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.answer_delivery import sign
from sojourn.platforms.webhook import WebhookSettings
from sojourn.platforms.webhook.adapter import Webhook, is_signature_valid
from sojourn.ports.platform import File, PlatformAdapter
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.request_sender import NO_LINE, ReceiverHarness, RequestSender
from tests.servers.starlette_server import WebServer

SECRET = Secret("signed-271828182845")
_STATUS = {"forbidden": 403, "not_found": 404, "rate_limited": 429, "bad_format": 400}


class HookHarness(ReceiverHarness):
    lacks: Mapping[str, str] = {
        "own messages": "answers go another way than questions",
        "other bots": "all who knock are machines",
        "a lost line": NO_LINE,
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

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        self.sender = RequestSender(port := free_port(), accepted=202)
        routes = {
            "deploys": {"secret": SECRET.reveal(), "deliver": f"{self._web.url}/answers"},
            "quiet": {"secret": "x" * 20},
            "forge": {"secret": SECRET.reveal(), "signature": "hub"},
        }
        self.settings = WebhookSettings(port=port, routes=routes)
        self.kit = AdapterKit(self.settings)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.sender.close()
        await self.kit.close()
        await self._web.__aexit__()

    def connect(self) -> Webhook:
        return Webhook(With(self.kit, self.settings))

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

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        id = uuid.uuid4().hex
        body = json.dumps({"id": id, "text": text, "sender": by.name}).encode()
        self.sender.send(lambda: (f"/webhook/{place.chat}", body, sign(SECRET, body, time.time())))
        return f"{place.chat}/{id}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return [
            PostedMessage(id=one["id"], text=one["text"], by="sojourn")
            for one in self.got
            if one["route"] == place.chat
        ]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self._refusal = (_STATUS[kind], {"Retry-After": f"{retry_after:g}"} if retry_after else {})

    async def break_sending(self) -> None:
        self._web.dead = True
