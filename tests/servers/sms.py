"""A server with the protocol of Twilio's messages (REST and signed forms), and the harness of `sms`."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import count
from typing import Any
from urllib.parse import urlencode

import httpx2
from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.sms import SmsSettings
from sojourn.platforms.sms.adapter import Sms
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import hang_up
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

ACCOUNT, TOKEN = "AC" + "0123456789abcdef" * 2, "auth-token-3141592653"
OURS, SERVICE = "+15550001111", "MG" + "fedcba9876543210" * 2
ANN, BEN = Sender(id="+491701234567"), Sender(id="+14155550123")
PUBLIC = "http://127.0.0.1:{port}/sms"


class TwilioRefused(Exception):
    def __init__(self, status: int, code: int) -> None:
        self.status, self.code = status, code


class TwilioServer:
    """As documented: what a number needs of it."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[TwilioRefused] = []
        self.sent: list[dict[str, str]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.received: list[dict[str, Any]] = []  # what the account lists, newest first
        self.files: dict[str, File] = {}
        self.page_rows, self.refused_words = 50, ""
        self.asked: list[str] = []
        self._numbers = count(1)

    def app(self) -> web.Application:
        account = f"/2010-04-01/Accounts/{ACCOUNT}"
        app = web.Application()
        app.add_routes(
            [
                web.get(f"{account}.json", self._get_account),
                web.get("/2010-04-01/Accounts/{other}.json", self._get_account),
                web.get(f"{account}/Messages.json", self._list),
                web.post(f"{account}/Messages.json", self._create),
                web.get(f"{account}/Messages/{{sid}}/Media.json", self._list_media),
                web.get(f"{account}/Messages/{{sid}}/Media/{{id}}", self._media),
            ]
        )
        return app

    def new_sid(self, kind: str = "SM") -> str:
        return f"{kind}{next(self._numbers):032x}"

    def _check(self, request: web.Request) -> None:
        if self.dead:
            hang_up(request)
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        if base64.b64decode(given) != f"{ACCOUNT}:{TOKEN}".encode():
            raise self._to_web_error(TwilioRefused(401, 20003))
        if self.faults and request.method == "POST":
            raise self._to_web_error(self.faults.pop(0))

    def _to_web_error(self, fault: TwilioRefused) -> web.HTTPException:
        kinds = {400: web.HTTPBadRequest, 401: web.HTTPUnauthorized, 429: web.HTTPTooManyRequests}
        about = f"https://www.twilio.com/docs/errors/{fault.code}"
        page = {"code": fault.code, "message": "refused", "more_info": about, "status": fault.status}
        kind = kinds.get(fault.status, web.HTTPInternalServerError)
        return kind(text=json.dumps(page), content_type="application/json")

    async def _get_account(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        return web.json_response({"sid": ACCOUNT, "friendly_name": "Garden", "status": "active"})

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        self.asked.append(request.query_string)
        assert request.query.get("To", OURS) == OURS
        page = int(request.query.get("Page", 0))
        rows = self.received[page * self.page_rows : (page + 1) * self.page_rows]
        is_last = (page + 1) * self.page_rows >= len(self.received)
        after = f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json?Page={page + 1}&PageToken=x"
        return web.json_response({"messages": rows, "next_page_uri": None if is_last else after})

    async def _create(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        form = {name: str(value) for name, value in (await request.post()).items()}
        assert ("From" in form) != ("MessagingServiceSid" in form)
        self.sent.append(form)
        if self.refused_words and form.get("Body") == self.refused_words:
            raise self._to_web_error(TwilioRefused(400, 21610))
        files: tuple[File, ...] = ()
        if "MediaUrl" in form:
            async with httpx2.AsyncClient(verify=False) as http:
                reply = await http.get(form["MediaUrl"])
            assert reply.status_code == 200
            media_type = reply.headers["content-type"]
            files = (File(name="", media_type=media_type, data=reply.content),)
        if len(form.get("Body", "")) > 1600:
            raise self._to_web_error(TwilioRefused(400, 21617))
        sid = self.new_sid()
        posted = PostedMessage(id=sid, text=form.get("Body", ""), by=OURS, files=files)
        self.posts.setdefault(form["To"], []).append(posted)
        return web.json_response({"sid": sid, "status": "queued", "account_sid": ACCOUNT}, status=201)

    async def _list_media(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        uri = f"{request.path.removesuffix('.json')}/ME1.json"
        return web.json_response({"media_list": [{"sid": "ME1", "content_type": "image/png", "uri": uri}]})

    async def _media(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.data, content_type=file.media_type)

    async def drop_connections(self) -> None:
        raise NotImplementedError

    def list_as_received(self, sid: str, by: Sender, text: str, at: float | None = None, num_media: int = 0) -> None:
        when = datetime.fromtimestamp(time.time() if at is None else at, UTC)
        row = {
            "sid": sid,
            "from": by.id,
            "to": OURS,
            "body": text,
            "direction": "inbound",
            "status": "received",
            "date_sent": format_datetime(when),
            "num_media": str(num_media),
            "messaging_service_sid": None,
        }
        self.received.insert(0, row)


def build_form(by: Sender, text: str, sid: str, **more: str) -> dict[str, str]:
    """The fields of a message, in no order of their own."""
    return {
        "ToCountry": "US",
        "SmsMessageSid": sid,
        "NumMedia": "0",
        "Body": text,
        "From": by.id,
        "To": OURS,
        "MessageSid": sid,
        "AccountSid": ACCOUNT,
        "NumSegments": "1",
        "ApiVersion": "2010-04-01",
        **more,
    }


def compute_mark(url: str, fields: Mapping[str, str], token: str) -> str:
    """As Twilio describes it, for fields that come once."""
    signed = url + "".join(f"{name}{fields[name]}" for name in sorted(fields))
    return base64.b64encode(hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()).decode()


class SmsHarness(ReceiverHarness, WiredHarness[TwilioServer]):
    lacks: Mapping[str, str] = {
        "own messages": "Twilio tells only what comes in",
        "other bots": "a number does not say who has it",
        "rate limit": "Twilio does not say how long to wait",
        "a lost line": NO_LINE,
    }
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: TwilioServer) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender = RequestSender(self.port)
        self.public_url = PUBLIC.format(port=self.port)

    def connect(self, token: str = TOKEN, **more: str) -> Sms:
        options: dict[str, Any] = {"number": OURS, "public_url": self.public_url} | more
        settings = SmsSettings(
            account_sid=ACCOUNT, auth_token=Secret(token), base_url=self.server.url, port=self.port, **options
        )
        return Sms(With(self.kit, settings))

    def connect_wrongly(self) -> Sms:
        return self.connect("wrong")

    def sign_form(self, fields: Mapping[str, str], token: str = TOKEN, path: str = "") -> Request:
        mark = compute_mark(self.public_url + path, fields, token)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Twilio-Signature": mark}
        return f"/sms{path}", urlencode(fields).encode(), headers

    def notify(self, fields: Mapping[str, str], path: str = "") -> None:
        self.sender.send(lambda: self.sign_form(fields, path=path))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        sid, more = self.server.new_sid(), dict[str, str]()
        if files:
            sid = self.server.new_sid("MM")
            self.server.files["ME1"] = files[0]
            url = f"{self.server.url}/2010-04-01/Accounts/{ACCOUNT}/Messages/{sid}/Media/ME1"
            more = {"NumMedia": "1", "MediaUrl0": url, "MediaContentType0": files[0].media_type}
        self.notify(build_form(by, text, sid, **more))
        return sid

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get(place.chat, [])

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {
            "bad_format": TwilioRefused(400, 21619),
            "forbidden": TwilioRefused(400, 21610),
            "not_found": TwilioRefused(400, 21211),
        }


@asynccontextmanager
async def sms_rig() -> AsyncIterator[SmsHarness]:
    async with wired(TwilioServer()) as server:
        harness = SmsHarness(server)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
