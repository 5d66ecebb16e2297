"""A server with the protocol of Weixin's iLink (long poll, messages, files, sign-in), and the harness of `weixin`."""

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.weixin import WeixinSettings
from sojourn.platforms.weixin.adapter import Weixin
from sojourn.platforms.weixin.media import decrypt, encrypt, parse_key
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, join_captions, wired

TOKEN, ACCOUNT = "t0ken-27182818", "bot1@im.bot"
ANN, BEN = Sender(id="ann@im.wechat"), Sender(id="ben@im.wechat")
FIRST_ID = 9_007_199_254_740_993  # does not fit into a double
POLL_SECONDS = 30.0
CLIENT_VERSIONS = (str(2 << 16 | 4 << 8 | 9), str(2 << 16 | 1 << 8 | 8))  # of the plugin: ours, and an older client's


class WeixinServer:
    """As the open plugin uses it. The cursor is the number of messages told; who asks with an old one is told again."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.updates: list[dict[str, Any]] = []
        self.lines: list[web.Request] = []
        self.polls: list[str] = []
        self.poll_results: list[Any] = []  # what the next polls answer instead
        self.sent: list[dict[str, Any]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.typing: list[tuple[str, int]] = []
        self.started = 0
        self.files: dict[str, bytes] = {}
        self.uploads: dict[str, dict[str, Any]] = {}
        self.gives_full_url = False
        self.statuses: list[dict[str, Any]] = []  # of codes that are scanned
        self.codes = 0
        self.asked: list[dict[str, str]] = []
        self.changed = Signal()
        self._ids = count(FIRST_ID)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/ilink/bot/getupdates", self._poll),
                web.post("/ilink/bot/sendmessage", self._send),
                web.post("/ilink/bot/getconfig", self._config),
                web.post("/ilink/bot/sendtyping", self._typing),
                web.post("/ilink/bot/getuploadurl", self._upload_url),
                web.post("/ilink/bot/msg/notifystart", self._start),
                web.post("/c2c/upload", self._upload),
                web.get("/c2c/download", self._download),
                web.post("/ilink/bot/get_bot_qrcode", self._code),
                web.get("/ilink/bot/get_qrcode_status", self._status),
            ]
        )
        return app

    async def _check(self, request: web.Request) -> dict[str, Any]:
        """The body of a request, or the refusal of its token."""
        headers = request.headers
        assert headers["AuthorizationType"] == "ilink_bot_token"
        assert headers["iLink-App-Id"] == "bot"
        assert headers["iLink-App-ClientVersion"] in CLIENT_VERSIONS
        assert 0 <= int(base64.b64decode(headers["X-WECHAT-UIN"])) < 2**32
        body = json.loads(await request.read())
        assert len(body["base_info"].get("bot_agent", "").encode()) <= 256
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            text = json.dumps({"ret": -14, "errcode": -14, "errmsg": "session timeout"})
            raise web.HTTPOk(text=text, content_type="application/json")
        return dict(body)

    async def _start(self, request: web.Request) -> web.StreamResponse:
        await self._check(request)
        self.started += 1
        return web.json_response({"ret": 0})

    async def _poll(self, request: web.Request) -> web.StreamResponse:
        asked = await self._check(request)
        cursor = int(base64.b64decode(asked["get_updates_buf"]) or 0)
        self.polls.append(asked["get_updates_buf"])
        self.lines.append(request)
        self.changed.ring()
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self.changed.until(lambda: len(self.updates) > cursor or bool(self.poll_results))
        except TimeoutError:
            return web.json_response({"ret": 0, "msgs": [], "get_updates_buf": asked["get_updates_buf"]})
        finally:
            self.lines.remove(request)
        if self.poll_results:
            return web.json_response(self.poll_results.pop(0))
        behind = base64.b64encode(str(len(self.updates)).encode()).decode()
        found = self.updates[cursor:]
        return web.json_response(
            {"ret": 0, "msgs": found, "get_updates_buf": behind, "longpolling_timeout_ms": int(POLL_SECONDS * 1000)}
        )

    async def _send(self, request: web.Request) -> web.StreamResponse:
        if self.dead:
            hang_up(request)
        message = (await self._check(request))["msg"]
        self.sent.append(message)
        if self.faults:
            return web.json_response(self.faults.pop(0))
        assert (message["message_type"], message["message_state"], message["from_user_id"]) == (2, 2, "")
        [item] = message["item_list"]
        text = item["text_item"]["text"] if item["type"] == 1 else ""
        files = (self._read_file(item),) if item["type"] != 1 else ()
        posted = PostedMessage(id=message["client_id"], text=text, by=ACCOUNT, files=files)
        self.posts.setdefault(message["to_user_id"], []).append(posted)
        self.push(message | {"from_user_id": ACCOUNT})
        return web.json_response({"ret": 0, "message_id": next(self._ids)})

    def _read_file(self, item: Mapping[str, Any]) -> File:
        [(kind, about)] = [(name, value) for name, value in item.items() if name != "type"]
        media = about["media"]
        assert media["encrypt_type"] == 1
        data = decrypt(self.files[media["encrypt_query_param"]], parse_key(media["aes_key"]))
        return File(name=about.get("file_name", ""), media_type=kind, data=data)

    async def _config(self, request: web.Request) -> web.StreamResponse:
        asked = await self._check(request)
        return web.json_response({"ret": 0, "typing_ticket": f"ticket-{asked['ilink_user_id']}"})

    async def _typing(self, request: web.Request) -> web.StreamResponse:
        asked = await self._check(request)
        assert asked["typing_ticket"] == f"ticket-{asked['ilink_user_id']}"
        self.typing.append((asked["ilink_user_id"], asked["status"]))
        return web.json_response({"ret": 0})

    async def _upload_url(self, request: web.Request) -> web.StreamResponse:
        asked = await self._check(request)
        assert (asked["no_need_thumb"], len(asked["filekey"]), len(asked["aeskey"])) == (True, 32, 32)
        self.uploads[asked["filekey"]] = asked
        if self.gives_full_url:
            return web.json_response({"upload_full_url": f"{self.url}/c2c/upload?filekey={asked['filekey']}"})
        return web.json_response({"upload_param": "p+/="})

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        assert "Authorization" not in request.headers
        about, sealed = self.uploads[request.query["filekey"]], await request.read()
        plain = decrypt(sealed, bytes.fromhex(about["aeskey"]))
        assert (len(sealed), len(plain)) == (about["filesize"], about["rawsize"])
        assert hashlib.md5(plain).hexdigest() == about["rawfilemd5"]
        parameter = f"file+{len(self.files)}/="
        self.files[parameter] = sealed
        return web.Response(headers={"x-encrypted-param": parameter})

    async def _download(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=self.files[request.query["encrypted_query_param"]])

    async def _code(self, request: web.Request) -> web.StreamResponse:
        assert request.query["bot_type"] == "3"
        assert json.loads(await request.read()) == {"local_token_list": []}
        self.codes += 1
        return web.json_response(
            {"qrcode": f"qr{self.codes}", "qrcode_img_content": f"https://weixin.qq.com/x/{self.codes}"}
        )

    async def _status(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        status = self.statuses.pop(0)
        if status.get("hang_up"):
            hang_up(request)
        return web.json_response(status)

    def push(self, message: Any) -> None:
        self.updates.append(message)
        self.changed.ring()

    def message(self, by: Sender, text: str, **more: Any) -> dict[str, Any]:
        return {
            "seq": len(self.updates),
            "message_id": next(self._ids),
            "from_user_id": by.id,
            "to_user_id": ACCOUNT,
            "create_time_ms": int(time.time() * 1000),
            "message_type": 2 if by.is_bot else 1,
            "message_state": 2,
            "context_token": f"context-{len(self.updates)}",
            "item_list": [{"type": 1, "text_item": {"text": text}}],
            **more,
        }

    def keep(self, file: File, key: bytes) -> str:
        """Puts an encrypted file on the CDN; gives its parameter."""
        parameter = f"in+{len(self.files)}/="
        self.files[parameter] = encrypt(file.data, key)
        return parameter

    async def drop_connections(self) -> None:
        await self.changed.until(lambda: bool(self.lines))
        for request in self.lines:
            hang_up(request)


class WeixinHarness(WiredHarness[WeixinServer]):
    lacks: Mapping[str, str] = {
        "bad format": "Weixin takes any text",
        "rate limit": "Weixin does not say how long to wait",
        "forbidden": "one code means this and too many messages; a test of its own tells them apart",
        "not found": "Weixin has no code for it that is known",
    }
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: WeixinServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, token: str = TOKEN) -> Weixin:
        url, self._polled = self.server.url, len(self.server.polls)
        settings = WeixinSettings(
            token=Secret(token), account_id=ACCOUNT, owner_id=ANN.id, base_url=url, cdn_url=f"{url}/c2c"
        )
        return Weixin(With(self.kit, settings))

    def connect_wrongly(self) -> Weixin:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        """Messages wait for the next poll, so one poll is enough."""
        await self.server.changed.until(lambda: len(self.server.polls) > self._polled)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        message = self.server.message(by, text)
        for file in files:
            key = b"0123456789abcdef"
            media = {"encrypt_query_param": self.server.keep(file, key), "aes_key": base64.b64encode(key).decode()}
            message["item_list"].append({"type": 2, "image_item": {"media": media}})
        self.server.push(message)
        return str(message["message_id"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return join_captions(self.server.posts.get(place.chat, []))


@asynccontextmanager
async def weixin_rig():
    async with wired(WeixinServer()) as server:
        harness = WeixinHarness(server)
        yield harness
        await harness.kit.close()
