"""A server with Feishu's protocol (long connection with Protocol Buffers, and REST), and the harness of `feishu`."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any

from aiohttp import WSMsgType, web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.feishu import FeishuSettings
from sojourn.platforms.feishu.adapter import Feishu
from sojourn.platforms.feishu.frames import DATA, FeishuFrame, decode_frame
from sojourn.ports.platform import Button, File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

APP, SECRET, BOT = "cli_app1", "s3cret-27182818", "ou_bot"
ANN, BEN = Sender(id="ou_ann"), Sender(id="ou_ben")
GROUP = "oc_garden"
_SIGNS = {"GLANCE": "👀", "THUMBSUP": "👍"}


class Refused(Exception):
    def __init__(self, code: int, status: int = 400, headers: Mapping[str, str] | None = None, **more: Any) -> None:
        self.status, self.headers, self.body = status, headers or {}, {"code": code, "msg": "refused", **more}


class FeishuServer:
    """As documented: what a bot needs of it. Events without an acknowledgement are pushed to a new connection."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.tokens: set[str] = set()
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.waiting: dict[str, tuple[FeishuFrame, ...]] = {}
        self.replies: list[FeishuFrame] = []
        self.pings: list[FeishuFrame] = []
        self.posts: dict[tuple[str, str], list[PostedMessage]] = {}
        self.threads: dict[str, str] = {}  # root → thread
        self.uuids: dict[str, dict[str, Any]] = {}
        self.files: dict[str, File] = {}
        self.calls: list[str] = []
        self.changed = Signal()
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        messages = "/open-apis/im/v1/messages"
        app.add_routes(
            [
                web.post("/callback/ws/endpoint", self._endpoint),
                web.get("/ws", self._stream),
                web.post("/open-apis/auth/v3/tenant_access_token/internal", self._token),
                web.get("/open-apis/bot/v3/info", self._bot),
                web.post(messages, self._send),
                web.post(messages + "/{id}/reply", self._reply),
                web.put(messages + "/{id}", self._edit),
                web.patch(messages + "/{id}", self._edit),
                web.post(messages + "/{id}/reactions", self._react),
                web.get(messages + "/{id}/resources/{key}", self._resource),
                web.post("/open-apis/im/v1/images", self._upload),
                web.post("/open-apis/im/v1/files", self._upload),
            ]
        )
        return app

    async def _endpoint(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if (asked["AppID"], asked["AppSecret"]) != (APP, SECRET):
            return web.json_response({"code": 514, "msg": "app_id or app_secret is wrong"})
        url = f"ws{self.url.removeprefix('http')}/ws?device_id=d1&service_id=77"
        config = {"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": 120}
        return web.json_response({"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": config}})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        self.lines.append((request, line))
        for frames in list(self.waiting.values()):
            for frame in frames:
                await line.send_bytes(frame.encode())
        try:
            async for message in line:
                assert message.type == WSMsgType.BINARY
                frame = decode_frame(message.data)
                if frame.method == DATA:
                    self.replies.append(frame)
                    self.waiting.pop(frame.headers["message_id"], None)
                else:
                    self.pings.append(frame)
                    pong = FeishuFrame(method=0, service=frame.service, headers={"type": "pong"}, payload=b"{}")
                    await line.send_bytes(pong.encode())
                self.changed.ring()
        finally:
            self.lines.remove((request, line))
            self.changed.ring()
        return line

    async def push(self, payload: Any, *, parts: int = 1, keep: bool = True, kind: str = "event") -> str:
        id, raw = f"fm{next(self._numbers)}", payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        size = -(-len(raw) // parts)
        headers = {"type": kind, "message_id": id, "trace_id": "t", "sum": str(parts)}
        frames = tuple(
            FeishuFrame(
                method=DATA,
                service=77,
                sequence=n,
                log=2**63 + n,
                headers=headers | {"seq": str(n)},
                payload=raw[n * size : (n + 1) * size],
            )
            for n in range(parts)
        )
        if keep:
            self.waiting[id] = frames
        for frame in frames:
            await self.push_raw(frame.encode())
        return id

    async def push_raw(self, data: bytes) -> None:
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):
                await line.send_bytes(data)

    async def push_event(self, kind: str, event: Mapping[str, Any], *, parts: int = 1, frame: str = "event") -> None:
        header = {"event_id": f"ev{next(self._numbers)}", "event_type": kind, "app_id": APP, "tenant_key": "t"}
        await self.push({"schema": "2.0", "header": header, "event": event}, parts=parts, kind=frame)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if (asked["app_id"], asked["app_secret"]) != (APP, SECRET):
            return web.json_response({"code": 10014, "msg": "app secret invalid"})
        token = f"t-{next(self._numbers)}"
        self.tokens.add(token)
        return web.json_response({"code": 0, "msg": "ok", "tenant_access_token": token, "expire": 7200})

    def _check(self, request: web.Request, *, fault: bool = False) -> None:
        if self.dead:
            hang_up(request)
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens:
            raise self._to_web_error(Refused(99991663))
        if fault and self.faults:
            raise self._to_web_error(self.faults.pop(0))

    def _to_web_error(self, fault: Refused) -> web.HTTPException:
        kinds = {400: web.HTTPBadRequest, 429: web.HTTPTooManyRequests, 500: web.HTTPInternalServerError}
        return kinds[fault.status](
            text=json.dumps(fault.body), content_type="application/json", headers=dict(fault.headers)
        )

    async def _bot(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        return web.json_response({"code": 0, "msg": "ok", "bot": {"open_id": BOT, "app_name": "Sojourn"}})

    async def _send(self, request: web.Request) -> web.StreamResponse:
        self._check(request, fault=True)
        asked, kind = await request.json(), request.query["receive_id_type"]
        self.calls.append(kind)
        target = asked["receive_id"]
        assert target.startswith({"open_id": "ou_", "chat_id": "oc_", "thread_id": "omt_"}[kind])
        where = (
            next((one for one in self.posts if one[1] == target), (target, "")) if kind == "thread_id" else (target, "")
        )
        return self._keep(where, asked)

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        self._check(request, fault=True)
        asked, root = await request.json(), request.match_info["id"]
        self.calls.append("reply")
        assert asked["reply_in_thread"]
        [chat] = [where[0] for where, posts in self.posts.items() if any(one.id.endswith(root) for one in posts)]
        thread = self.threads.setdefault(root, f"omt_{next(self._numbers)}")
        return self._keep((chat, thread), asked)

    def _keep(self, where: tuple[str, str], asked: Mapping[str, Any]) -> web.StreamResponse:
        assert 0 < len(asked["uuid"]) <= 50
        if asked["uuid"] not in self.uuids:
            if len(asked["content"].encode()) > (150_000 if asked["msg_type"] == "text" else 30_000):
                raise self._to_web_error(Refused(230025))
            id = f"om_{next(self._numbers)}"
            text, files, buttons = self._show(asked["msg_type"], json.loads(asked["content"]))
            shown = f"card/{id}" if asked["msg_type"] == "interactive" else id
            made = PostedMessage(id=shown, text=text, by=BOT, files=files, buttons=buttons)
            self.posts.setdefault(where, []).append(made)
            self.uuids[asked["uuid"]] = {"message_id": id} | ({"thread_id": where[1]} if where[1] else {})
        return web.json_response({"code": 0, "msg": "success", "data": self.uuids[asked["uuid"]]})

    def _show(self, kind: str, content: Any) -> tuple[str, tuple[File, ...], tuple[Button, ...]]:
        if kind == "text":
            return content["text"], (), ()
        if kind == "file":
            return "", (self.files[content["file_key"]],), ()
        if kind == "post":
            parts = [one for row in content["zh_cn"]["content"] for one in row]
            files = tuple(self.files[one["image_key"]] for one in parts if one["tag"] == "img")
            return "\n".join(one["text"] for one in parts if one["tag"] == "md"), files, ()
        assert kind == "interactive"
        first, *rest = content["elements"]
        text = first["content"] if first["tag"] == "markdown" else first["text"]["content"]
        actions = [one for element in rest for one in element["actions"]]
        return text, (), tuple(Button(label=a["text"]["content"], value=json.dumps(a["value"])) for a in actions)

    def _change(self, id: str, **changes: Any) -> None:
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id.removeprefix("card/") == id:
                    posts[at] = replace(one, **changes)
                    return
        raise self._to_web_error(Refused(230011))

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        asked = await request.json()
        kind = asked["msg_type"] if request.method == "PUT" else "interactive"
        assert (request.method, kind) in (("PUT", "text"), ("PUT", "post"), ("PATCH", "interactive"))
        text, _, buttons = self._show(kind, json.loads(asked["content"]))
        self._change(request.match_info["id"], text=text, buttons=buttons)
        return web.json_response({"code": 0, "msg": "success", "data": {}})

    async def _react(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        name = (await request.json())["reaction_type"]["emoji_type"]
        if name not in _SIGNS:
            raise self._to_web_error(Refused(231001))
        self._change(request.match_info["id"], reactions=(_SIGNS[name],))
        return web.json_response({"code": 0, "msg": "success", "data": {}})

    async def _resource(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        file = self.files.get(request.match_info["key"])
        if file is None:
            raise self._to_web_error(Refused(230011))
        return web.Response(body=file.data, content_type=file.media_type)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        form = await request.post()
        is_image = request.path.endswith("images")
        sent: Any = form["image" if is_image else "file"]
        assert form["image_type" if is_image else "file_type"] in ("message", "stream")
        key = f"{'img' if is_image else 'file'}_{next(self._numbers)}"
        self.files[key] = File(name=sent.filename, media_type=sent.content_type, data=sent.file.read())
        return web.json_response({"code": 0, "data": {"image_key" if is_image else "file_key": key}})

    async def drop_connections(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)

    async def until_linked(self) -> None:
        """Past the first ping."""
        await self.changed.until(lambda: bool(self.lines) and bool(self.pings))

    # what people do
    def message(self, place: Place, by: Sender, text: str, **more: Any) -> dict[str, Any]:
        mention = {"key": "@_user_1", "id": {"open_id": BOT}, "name": "Sojourn"}
        is_group = place.kind != "dm"
        message = {
            "message_id": f"om_{next(self._numbers)}",
            "chat_id": place.chat if is_group else "oc_private",
            "chat_type": "group" if is_group else "p2p",
            "message_type": "text",
            "content": json.dumps({"text": f"@_user_1 {text}" if is_group else text}),
            "mentions": [mention] if is_group else [],
            "create_time": str(int(time.time() * 1000)),
        }
        if place.thread:
            root = next((root for root, thread in self.threads.items() if thread == place.thread), "")
            message |= {"thread_id": place.thread} | ({"root_id": root, "parent_id": root} if root else {})
        sender = {"sender_id": {"open_id": by.id}, "sender_type": "app" if by.is_bot else "user", "tenant_key": "t"}
        return {"sender": sender, "message": message | more}

    async def say(self, event: Mapping[str, Any], *, parts: int = 1) -> str:
        message, place = event["message"], event["sender"]["sender_id"]["open_id"]
        where = (place if message["chat_type"] == "p2p" else message["chat_id"], message.get("thread_id") or "")
        posted = PostedMessage(id=message["message_id"], text=message["content"], by=place)
        self.posts.setdefault(where, []).append(posted)
        await self.push_event("im.message.receive_v1", event, parts=parts)
        return str(message["message_id"])


class FeishuHarness(WiredHarness[FeishuServer]):
    lacks: Mapping[str, str] = {"own messages": "Feishu tells an app only what others write"}
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id, "group": GROUP}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (ANN, BEN)

    def __init__(self, server: FeishuServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, secret: str = SECRET) -> Feishu:
        settings = FeishuSettings(app_id=APP, app_secret=Secret(secret), base_url=self.server.url)
        return Feishu(With(self.kit, settings))

    def connect_wrongly(self) -> Feishu:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        event = self.server.message(place, by, text)
        if files:
            self.server.files["img_in"] = files[0]
            rows = [[{"tag": "text", "text": text}], [{"tag": "img", "image_key": "img_in"}]]
            event["message"] |= {"message_type": "post", "content": json.dumps({"title": "", "content": rows})}
        return await self.server.say(event)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return [
            replace(one, buttons=tuple(Button(label=b.label, value=json.loads(b.value)["value"]) for b in one.buttons))
            for one in self.server.posts.get((place.chat, place.thread or ""), [])
        ]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        [card] = [one for one in self.server.posts[(place.chat, place.thread or "")] if one.id == posted.id]
        [value] = [json.loads(one.value) for one in card.buttons if one.label == button.label]
        event = {
            "operator": {"open_id": by.id},
            "action": {"tag": "button", "value": value},
            "context": {"open_message_id": posted.id.removeprefix("card/"), "open_chat_id": "oc_x"},
        }
        await self.server.push_event("card.action.trigger", event, frame="card")

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        wait = {"x-ogw-ratelimit-reset": f"{retry_after or 1:g}"}
        return {
            "bad_format": Refused(230001),
            "rate_limited": Refused(99991400, headers=wait),
            "forbidden": Refused(230002),
            "not_found": Refused(230011),
        }


@asynccontextmanager
async def feishu_rig():
    async with wired(FeishuServer()) as server:
        harness = FeishuHarness(server)
        yield harness
        await harness.kit.close()
