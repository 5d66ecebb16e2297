"""A server with the protocol of self-built WeCom apps (REST, encrypted callbacks), and the harness of `wecom_app`."""

import base64
import hashlib
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any
from urllib.parse import urlencode
from xml.sax.saxutils import escape

from aiohttp import web
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.wecom_app import WecomAppSettings
from sojourn.platforms.wecom_app.adapter import WecomApp
from sojourn.ports.platform import Button, File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import hang_up
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

CORP, AGENT, SECRET = "wx5823bf96d3bd56c7", 218, "corp-secret-3141592653"
TOKEN, AES_KEY = "QDG6eK-271828", "jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"
ANN, BEN = Sender(id="ann"), Sender(id="ben.b")


class CodeRefused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


class WecomAppServer:
    """As documented: what an app needs of it. Refusals come with status 200."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[CodeRefused] = []
        self.tokens: set[str] = set()
        self.sent: list[dict[str, Any]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.uploads: dict[str, File] = {}
        self.files: dict[str, File] = {}
        self.invalid_user = ""
        self.number = count(4561255354251345929)  # larger than 2^53

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.get("/cgi-bin/gettoken", self._token),
                web.get("/cgi-bin/agent/get", self._agent),
                web.post("/cgi-bin/message/send", self._message),
                web.post("/cgi-bin/media/upload", self._upload),
                web.get("/cgi-bin/media/get", self._media),
            ]
        )
        return app

    def _answer(self, **page: Any) -> web.Response:
        return web.json_response({"errcode": 0, "errmsg": "ok"} | page)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        if (request.query["corpid"], request.query["corpsecret"]) != (CORP, SECRET):
            return self._answer(errcode=40001, errmsg="invalid credential")
        token = f"token{next(self.number)}"
        self.tokens.add(token)
        return self._answer(access_token=token, expires_in=7200)

    def _check(self, request: web.Request) -> web.Response | None:
        if self.dead:
            hang_up(request)
        if request.query.get("access_token") not in self.tokens:
            return self._answer(errcode=42001, errmsg="access_token expired")
        return None

    async def _agent(self, request: web.Request) -> web.StreamResponse:
        return self._check(request) or self._answer(name="Garden", square_logo_url="https://x.example/logo.png")

    async def _message(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._check(request)) is not None:
            return refused
        if self.faults:
            return self._answer(errcode=self.faults.pop(0).code, errmsg="refused")
        asked = await request.json()
        assert asked["agentid"] == AGENT
        self.sent.append(asked)
        kind, id = asked["msgtype"], f"msg{next(self.number)}"
        part, files, buttons = asked[kind], tuple[File, ...](), tuple[Button, ...]()
        text = part.get("content", "")
        if kind == "template_card":
            id, text = part["task_id"], part["sub_title_text"]
            buttons = tuple(Button(label=one["text"], value=one["key"]) for one in part["button_list"])
        elif "media_id" in part:
            files = (self.uploads[part["media_id"]],)
        posted = PostedMessage(id=id, text=text, by="app", files=files, buttons=buttons)
        self.posts.setdefault(asked["touser"], []).append(posted)
        return self._answer(invaliduser=self.invalid_user, msgid=id)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._check(request)) is not None:
            return refused
        part = (await request.post())["media"]
        assert isinstance(part, web.FileField)
        id = f"media{next(self.number)}"
        self.uploads[id] = File(name=part.filename, media_type=part.content_type, data=part.file.read())
        return self._answer(type=request.query["type"], media_id=id)

    async def _media(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._check(request)) is not None:
            return refused
        file = self.files.get(request.query["media_id"])
        if file is None:
            return self._answer(errcode=40007, errmsg="invalid media_id")
        headers = {"Content-Disposition": f'attachment; filename="{file.name}"'}
        return web.Response(body=file.data, content_type=file.media_type, headers=headers)

    async def drop_connections(self) -> None:
        raise NotImplementedError

    def build_fields(self, by: Sender, text: str, **more: str) -> dict[str, str]:
        return {
            "ToUserName": CORP,
            "FromUserName": by.id,
            "CreateTime": str(int(time.time())),
            "MsgType": "text",
            "Content": text,
            "MsgId": str(next(self.number)),
            "AgentID": str(AGENT),
            **more,
        }


def to_xml(fields: Mapping[str, Any]) -> bytes:
    return f"<xml>{''.join(f'<{name}>{escape(str(one))}</{name}>' for name, one in fields.items())}</xml>".encode()


def encrypt(plain: bytes, receiver: str = CORP) -> str:
    """As WeCom describes it: random bytes, the length, the text and the receiver, padded to 32 bytes."""
    key = base64.b64decode(f"{AES_KEY}=")
    data = bytes(range(16)) + len(plain).to_bytes(4, "big") + plain + receiver.encode()
    rest = 32 - len(data) % 32
    encryptor = Cipher(algorithms.AES256(key), modes.CBC(key[:16])).encryptor()
    return base64.b64encode(encryptor.update(data + bytes([rest]) * rest) + encryptor.finalize()).decode()


def wrap(encrypted: str) -> bytes:
    return (
        f"<xml><ToUserName><![CDATA[{CORP}]]></ToUserName><Encrypt><![CDATA[{encrypted}]]></Encrypt>"
        f"<AgentID><![CDATA[{AGENT}]]></AgentID></xml>"
    ).encode()


def sign_query(encrypted: str, token: str = TOKEN, at: float | None = None, **more: str) -> str:
    stamp, nonce = str(int(time.time() if at is None else at)), "1372623149"
    mark = hashlib.sha1("".join(sorted([token, stamp, nonce, encrypted])).encode()).hexdigest()
    return urlencode({"timestamp": stamp, "nonce": nonce, **more, "msg_signature": mark})


def sign_request(body: bytes, token: str = TOKEN, at: float | None = None) -> Request:
    encrypted = body.partition(b"<Encrypt><![CDATA[")[2].partition(b"]]>")[0].decode(errors="replace")
    return f"/wecom_app?{sign_query(encrypted, token, at)}", body, {"Content-Type": "text/xml"}


class WecomAppHarness(ReceiverHarness, WiredHarness[WecomAppServer]):
    lacks: Mapping[str, str] = {
        "own messages": "WeCom tells an app only what members write",
        "other bots": "only members can write to an app",
        "rate limit": "WeCom does not say how long to wait",
        "a lost line": NO_LINE,
    }
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: WecomAppServer) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender = RequestSender(self.port)

    def connect(self, secret: str = SECRET, aes_key: str = AES_KEY) -> WecomApp:
        settings = WecomAppSettings(
            corp_id=CORP,
            agent_id=AGENT,
            corp_secret=Secret(secret),
            token=Secret(TOKEN),
            aes_key=Secret(aes_key),
            base_url=self.server.url,
            port=self.port,
        )
        return WecomApp(With(self.kit, settings))

    def connect_wrongly(self) -> WecomApp:
        return self.connect("wrong")

    def notify(self, fields: Mapping[str, Any]) -> None:
        body = wrap(encrypt(to_xml(fields)))
        self.sender.send(lambda: sign_request(body))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        fields = self.server.build_fields(by, text)
        if files:
            self.server.files["M1"] = files[0]
            fields |= {"MsgType": "image", "MediaId": "M1", "PicUrl": "http://x.example/"}
            del fields["Content"]
        self.notify(fields)
        return fields["MsgId"]

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return [
            PostedMessage(
                id=one.id,
                text=one.text,
                by=one.by,
                files=one.files,
                buttons=tuple(Button(label=b.label, value=json.loads(b.value)["value"]) for b in one.buttons),
            )
            for one in self.server.posts.get(place.chat, [])
        ]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        [card] = [one for one in self.server.posts[place.chat] if one.id == posted.id]
        [key] = [one.value for one in card.buttons if one.label == button.label]
        more = {"MsgType": "event", "Event": "template_card_event", "EventKey": key, "TaskId": posted.id}
        fields = self.server.build_fields(by, "", **more, ResponseCode=f"code{next(self.server.number)}")
        self.notify({name: one for name, one in fields.items() if name not in ("MsgId", "Content")})

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {"bad_format": CodeRefused(40035), "forbidden": CodeRefused(60011), "not_found": CodeRefused(81013)}


@asynccontextmanager
async def wecom_app_rig() -> AsyncIterator[WecomAppHarness]:
    async with wired(WecomAppServer()) as server:
        harness = WecomAppHarness(server)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
