"""A server with the protocol of Yuanbao's bots (WebSocket of Protocol Buffers, token, files), and its harness."""

import asyncio
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.protobuf import MessageFields, encode_values
from sojourn.platforms.yuanbao import YuanbaoSettings
from sojourn.platforms.yuanbao.adapter import Yuanbao
from sojourn.platforms.yuanbao.frames import PUSH, RESPONSE, YuanbaoFrame, decode_frame
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, join_captions, wired

KEY, SECRET, BOT, OWNER = "app-1", "s3cret-16180339", "bot_77", "owner_1"
ANN, BEN = Sender(id="ann_1", name="Ann"), Sender(id="ben_2", name="Ben")
GROUP = "G100"


class YuanbaoServer:
    """As the open plugin uses it."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.tokens: set[str] = set()
        self.sign_results: list[dict[str, Any]] = []
        self.bind_codes: list[int] = []
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.bound: list[MessageFields] = []
        self.beats = 0
        self.interval = 60
        self.answers_beats = True
        self.acknowledged: list[YuanbaoFrame] = []
        self.sent: list[tuple[str, MessageFields]] = []
        self.typing: list[tuple[str, str]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.files: dict[str, File] = {}
        self.changed = Signal()
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/api/v5/robotLogic/sign-token", self._sign),
                web.post("/api/resource/genUploadInfo", self._grant),
                web.get("/api/resource/v1/download", self._resolve),
                web.put("/storage/{path:.*}", self._store),
                web.get("/storage/{path:.*}", self._serve),
                web.get("/ws", self._socket),
            ]
        )
        return app

    async def _sign(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        assert request.headers["X-Instance-Id"] == "16"
        if self.sign_results:
            return web.json_response(self.sign_results.pop(0))
        assert len(asked["nonce"]) == 32
        assert asked["timestamp"].endswith("+08:00")
        text = f"{asked['nonce']}{asked['timestamp']}{KEY}{SECRET}"
        if not hmac.compare_digest(
            hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).hexdigest(), asked["signature"]
        ):
            return web.json_response({"code": 10001, "msg": "signature"})
        token = f"token{next(self._numbers)}"
        self.tokens.add(token)
        data = {"bot_id": BOT, "duration": 7200, "product": "yuanbao", "source": "bot", "token": token}
        return web.json_response({"code": 0, "data": data, "msg": ""})

    def _check(self, request: web.Request) -> None:
        if request.headers.get("X-Token") not in self.tokens:
            raise web.HTTPUnauthorized
        assert (request.headers["X-ID"], request.headers["X-Source"]) == (BOT, "bot")

    async def _grant(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        asked = await request.json()
        path = f"in box/{asked['fileId']}"
        grant = {
            "bucketName": "files-1",
            "region": "ap-x",
            "location": path,
            "encryptTmpSecretId": "id",
            "encryptTmpSecretKey": "key",
            "encryptToken": "lent",
            "startTime": 1,
            "expiredTime": 2,
            "resourceUrl": f"{self.url}/storage/{path}",
        }
        return web.json_response({"code": 0, "data": grant})

    async def _store(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["x-cos-security-token"] == "lent"
        assert "q-ak=id" in request.headers["Authorization"]
        assert "X-Token" not in request.headers
        data = await request.read()
        self.files[request.match_info["path"]] = File(name="", media_type=request.content_type, data=data)
        return web.Response()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        file = self.files[request.match_info["path"]]
        return web.Response(body=file.data, content_type=file.media_type)

    async def _resolve(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        return web.json_response({"code": 0, "data": {"realUrl": f"{self.url}/storage/{request.query['resourceId']}"}})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        try:
            async for message in line:
                frame = decode_frame(message.data)
                if frame.type == 3:
                    self.acknowledged.append(frame)
                else:
                    await self._answer(request, line, frame)
                self.changed.ring()
        finally:
            self.lines = [one for one in self.lines if one[1] is not line]
            self.changed.ring()
        return line

    async def _answer(self, request: web.Request, line: web.WebSocketResponse, frame: YuanbaoFrame) -> None:
        body, reply, status = MessageFields(frame.data), b"", 0
        if frame.command == "auth-bind":
            code = self._bind(body)
            reply = encode_values({1: code, 3: uuid.uuid4().hex, 4: int(time.time())})
            if not code or code == 41101:
                self.lines.append((request, line))
        elif frame.command == "ping":
            self.beats += 1
            if not self.answers_beats:
                return
            reply = encode_values({1: self.interval, 2: int(time.time())})
        else:
            assert frame.module == "yuanbao_openclaw_proxy"
            if self.dead:
                hang_up(request)
                return
            fault = self.faults.pop(0) if self.faults else 0
            status, code = (fault[0], 0) if isinstance(fault, tuple) else (0, fault)
            reply = encode_values({1: code % 2**64, 2: "refused" if code else ""})
            if not fault:
                self._take(frame.command, body)
        head = YuanbaoFrame(
            type=RESPONSE, command=frame.command, id=frame.id, module=frame.module, status=status, data=reply
        )
        with suppress(ConnectionError):
            await line.send_bytes(head.encode())

    def _bind(self, body: MessageFields) -> int:
        self.bound.append(body)
        person, device = MessageFields(body.get_bytes(2)), MessageFields(body.get_bytes(3))
        assert (body.get_text(1), person.get_text(1), person.get_text(2)) == ("ybBot", BOT, "bot")
        assert device.get_text(10) == "16"
        if self.bind_codes:
            return self.bind_codes.pop(0)
        return 0 if person.get_text(3) in self.tokens else 41103

    def _take(self, command: str, body: MessageFields) -> None:
        if command.endswith("_heartbeat"):
            self.typing.append((command, body.get_text(2)))
            return
        self.sent.append((command, body))
        is_group = command == "send_group_message"
        assert body.get_text(3) == BOT
        for element in body.list_messages(6 if is_group else 5):
            content = MessageFields(element.get_bytes(2))
            url = content.get_text(10) or next((one.get_text(5) for one in content.list_messages(8)), "")
            files = (self.files[url.partition("/storage/")[2]],) if url else ()
            posted = PostedMessage(id=body.get_text(1), text=content.get_text(1), by=BOT, files=files)
            self.posts.setdefault(body.get_text(2), []).append(posted)

    async def push(self, data: bytes, *, command: str = "inbound_message", needs_acknowledgement: bool = True) -> str:
        id = uuid.uuid4().hex
        frame = YuanbaoFrame(
            type=PUSH,
            command=command,
            id=id,
            module="yuanbao_openclaw_proxy",
            needs_acknowledgement=needs_acknowledgement,
            data=data,
        )
        await self.push_raw(frame.encode())
        return id

    async def push_raw(self, data: bytes) -> None:
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):
                await line.send_bytes(data)

    def encode(self, place: Place, by: Sender, elements: Sequence[bytes], **more: Any) -> tuple[str, bytes]:
        """A message as it is pushed, and its id."""
        id, is_group = f"m{next(self._numbers)}", place.kind == "group"
        values: dict[int, Any] = {
            1: "Group.CallbackAfterSendMsg" if is_group else "C2C.CallbackAfterSendMsg",
            2: by.id,
            3: BOT,
            4: by.name,
            6: place.chat if is_group else "",
            7: "The garden" if is_group else "",
            8: 5,
            10: int(time.time()),
            12: id,
            13: list(elements),
            16: OWNER,
            18: 1 if is_group else 2,
        }
        return id, encode_values(values | {int(name[1:]): value for name, value in more.items()})

    async def drop_connections(self) -> None:
        await self.changed.until(lambda: bool(self.lines))
        for request, _ in self.lines:
            hang_up(request)


def element(kind: str, **content: Any) -> bytes:
    """One element of a message."""
    numbers = {"text": 1, "uuid": 2, "data": 4, "pictures": 8, "url": 10, "file_name": 12}
    return encode_values({1: kind, 2: [encode_values({numbers[name]: value for name, value in content.items()})]})


def custom(**data: Any) -> bytes:
    return element("TIMCustomElem", data=json.dumps(data))


MENTION = custom(elem_type=1002, text="@Sojourn", user_id=BOT)


class YuanbaoHarness(WiredHarness[YuanbaoServer]):
    lacks: Mapping[str, str] = {
        "told again": "whether Yuanbao repeats what was not acknowledged is not known",
        "own messages": "Yuanbao tells a bot only what people write, as far as is known",
        "other bots": "Yuanbao does not mark bots in what it pushes",
        "rate limit": "Yuanbao does not say how long to wait",
    }
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id, "group": f"group:{GROUP}"}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: YuanbaoServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, secret: str = SECRET) -> Yuanbao:
        url = self.server.url
        settings = YuanbaoSettings(
            app_key=KEY,
            app_secret=Secret(secret),
            api_url=url,
            ws_url=f"ws{url.removeprefix('http')}/ws",
            upload_url=f"{url}/storage",
        )
        return Yuanbao(With(self.kit, settings))

    def connect_wrongly(self) -> Yuanbao:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.changed.until(lambda: bool(self.server.lines))
        await asyncio.sleep(0)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        elements = [MENTION] if place.kind == "group" else []
        elements.append(element("TIMTextElem", text=text))
        for file in files:
            self.server.files["in"] = file
            picture = encode_values({1: 1, 5: f"{self.server.url}/storage/in"})
            elements.append(element("TIMImageElem", uuid="u", pictures=[picture]))
        id, data = self.server.encode(place, by, elements)
        await self.server.push(data)
        return id

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return join_captions(self.server.posts.get(place.chat, []))

    def refusals(self, retry_after: float | None) -> Mapping[str, Any]:
        return {"bad_format": 40011, "forbidden": 41106, "not_found": 1652513}


@asynccontextmanager
async def yuanbao_rig():
    async with wired(YuanbaoServer()) as server:
        harness = YuanbaoHarness(server)
        yield harness
        await harness.kit.close()
