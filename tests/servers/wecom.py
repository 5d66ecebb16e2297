"""A server with the protocol of WeCom's AI bots, and the harness of `wecom`."""

import base64
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any

from aiohttp import web
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.wecom import WecomSettings
from sojourn.platforms.wecom.adapter import Wecom
from sojourn.ports.platform import Button, File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

BOT, SECRET, KEY = "bot1", "s3cret-16180339", bytes(range(32))
ANN, BEN = Sender(id="ann"), Sender(id="ben")
GROUP = "wrGarden"


class Refused(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


def encrypt(data: bytes) -> bytes:
    padding = 32 - len(data) % 32
    encryptor = Cipher(algorithms.AES256(KEY), modes.CBC(KEY[:16])).encryptor()
    return encryptor.update(data + bytes([padding]) * padding) + encryptor.finalize()


class WecomServer:
    """As documented: what a bot needs of it. A newer connection takes over."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.frames: list[dict[str, Any]] = []
        self.requests: dict[str, str] = {}  # of callbacks, and where they came from
        self.posts: dict[str, list[PostedMessage]] = {}
        self.streams: dict[str, bool] = {}  # whether it is finished
        self.uploads: dict[str, Any] = {}
        self.files: dict[str, File] = {}
        self.changed = Signal()
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes([web.get("/", self._socket), web.get("/media/{id}", self._media)])
        return app

    async def _media(self, request: web.Request) -> web.StreamResponse:
        return web.Response(body=encrypt(self.files[request.match_info["id"]].data))

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        line = web.WebSocketResponse(max_msg_size=8 * 1024 * 1024)
        await line.prepare(request)
        try:
            async for message in line:
                frame = json.loads(message.data)
                self.frames.append(frame)
                if self.dead:
                    hang_up(request)
                    break
                reply = {"headers": frame["headers"], **await self._answer(request, line, frame)}
                with suppress(ConnectionError):
                    await line.send_json(reply)
                self.changed.ring()
        finally:
            self.lines = [one for one in self.lines if one[1] is not line]
            self.changed.ring()
        return line

    async def _answer(self, request: web.Request, line: web.WebSocketResponse, frame: Any) -> dict[str, Any]:
        command, body, id = frame["cmd"], frame.get("body", {}), frame["headers"]["req_id"]
        if command == "aibot_subscribe":
            if (body["bot_id"], body["secret"]) != (BOT, SECRET):
                return {"errcode": 40001, "errmsg": "invalid secret"}
            for _, old in self.lines:
                event = {"msgid": "d", "msgtype": "event", "event": {"eventtype": "disconnected_event"}}
                await old.send_json({"cmd": "aibot_event_callback", "headers": {"req_id": "d"}, "body": event})
            self.lines.append((request, line))
            self.requests.clear()
        elif not any(line is one for _, one in self.lines):
            return {"errcode": 846609, "errmsg": "not subscribed"}
        elif command == "ping":
            assert "body" not in frame
        elif self.faults and command in ("aibot_send_msg", "aibot_respond_msg"):
            return {"errcode": self.faults.pop(0).code, "errmsg": "refused"}
        elif command in ("aibot_respond_msg", "aibot_respond_update_msg") and id not in self.requests:
            return {"errcode": 846605, "errmsg": "invalid req_id"}
        else:
            return self._carry_out(command, body, id)
        return {"errcode": 0, "errmsg": "ok"}

    def _carry_out(self, command: str, body: Any, id: str) -> dict[str, Any]:
        good: dict[str, Any] = {"errcode": 0, "errmsg": "ok"}
        match command:
            case "aibot_send_msg":
                assert body["chat_type"] == (2 if body["chatid"].startswith("wr") else 1)
                return self._post(body["chatid"], body["msgtype"], body[body["msgtype"]])
            case "aibot_respond_msg":
                stream = body["stream"]
                if len(stream["content"].encode()) > 20_480:
                    return {"errcode": 45002, "errmsg": "too long"}
                shown = f"stream/{stream['id']}"
                if self.streams.get(shown):
                    return {"errcode": 846608, "errmsg": "stream is over"}
                if shown not in self.streams:
                    self._keep(self.requests[id], shown, stream["content"])
                self.streams[shown] = stream["finish"]
                self._change(shown, text=stream["content"])
            case "aibot_respond_update_msg":
                card = body["template_card"]
                assert (body["response_type"], card["card_type"]) == ("update_template_card", "text_notice")
                self._change(f"card/{card['task_id']}", text=card["sub_title_text"], buttons=())
            case "aibot_upload_media_init":
                self.uploads["u1"] = dict(body, data=b"")
                return good | {"body": {"upload_id": "u1"}}
            case "aibot_upload_media_chunk":
                self.uploads["u1"]["data"] += base64.b64decode(body["base64_data"])
            case "aibot_upload_media_finish":
                given, media = self.uploads["u1"], f"media{next(self._numbers)}"
                assert len(given["data"]) == given["total_size"]
                self.files[media] = File(name=given["filename"], media_type=given["type"], data=given["data"])
                return good | {"body": {"media_id": media, "type": given["type"]}}
        return good

    def _post(self, chat: str, kind: str, content: Any) -> dict[str, Any]:
        id = f"message/{next(self._numbers)}"
        if kind == "markdown":
            if len(content["content"].encode()) > 20_480:
                return {"errcode": 45002, "errmsg": "too long"}
            self._keep(chat, id, content["content"])
        elif kind == "template_card":
            buttons = tuple(Button(label=one["text"], value=one["key"]) for one in content["button_list"])
            assert all(len(one.value.encode()) <= 1024 for one in buttons)
            self._keep(chat, f"card/{content['task_id']}", content["sub_title_text"], buttons=buttons)
        else:
            self._keep(chat, id, "", files=(self.files[content["media_id"]],))
        return {"errcode": 0, "errmsg": "ok"}

    def _keep(self, chat: str, id: str, text: str, **more: Any) -> None:
        self.posts.setdefault(chat, []).append(PostedMessage(id=id, text=text, by="bot", **more))

    def _change(self, id: str, **changes: Any) -> None:
        for posts in self.posts.values():
            posts[:] = [replace(one, **changes) if one.id == id else one for one in posts]

    async def push(self, command: str, body: Any, chat: str = "") -> None:
        id = f"r{next(self._numbers)}"
        self.requests[id] = chat
        await self.push_raw(json.dumps({"cmd": command, "headers": {"req_id": id}, "body": body}))

    async def push_raw(self, text: str) -> None:
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):
                await line.send_str(text)

    def body(self, chat: str, by: Sender, **more: Any) -> dict[str, Any]:
        is_group = chat.startswith("wr")
        where = {"chatid": chat, "chattype": "group"} if is_group else {"chattype": "single"}
        base = {"msgid": f"m{next(self._numbers)}", "aibotid": BOT, "from": {"userid": by.id}}
        return base | where | {"create_time": int(time.time())} | more

    async def drop_connections(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)

    async def until_linked(self) -> None:
        await self.changed.until(lambda: bool(self.lines))


class WecomHarness(WiredHarness[WecomServer]):
    lacks: Mapping[str, str] = {
        "told again": "WeCom describes neither an acknowledgement nor a repetition",
        "own messages": "WeCom tells a bot only what people write",
        "other bots": "WeCom tells a bot only what people write",
        "rate limit": "WeCom does not say how long to wait",
        "not found": "WeCom publishes no code for a chat that is gone",
    }
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id, "group": f"group:{GROUP}"}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: WecomServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, secret: str = SECRET) -> Wecom:
        url = f"ws{self.server.url.removeprefix('http')}"
        return Wecom(With(self.kit, WecomSettings(bot_id=BOT, secret=Secret(secret), ws_url=url, name="Sojourn")))

    def connect_wrongly(self) -> Wecom:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        words = f"@Sojourn {text}" if place.kind == "group" else text
        body = self.server.body(place.chat, by, msgtype="text", text={"content": words})
        if files:
            self.server.files["in"] = files[0]
            picture = {"url": f"{self.server.url}/media/in", "aeskey": base64.b64encode(KEY).decode().rstrip("=")}
            items = [{"msgtype": "text", "text": {"content": words}}, {"msgtype": "image", "image": picture}]
            body |= {"msgtype": "mixed", "mixed": {"msg_item": items}}
        await self.server.push("aibot_msg_callback", body, place.chat)
        return str(body["msgid"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        """As people see them: WeCom gives no ids for most, so those of the adapter are taken."""
        return [
            replace(
                one,
                text=re.sub(r"\\([\\`*_\[\]<>()#~|])", r"\1", one.text),
                buttons=tuple(Button(label=b.label, value=json.loads(b.value)["value"]) for b in one.buttons),
            )
            for one in self.server.posts.get(place.chat, [])
        ]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        [card] = [one for one in self.server.posts[place.chat] if one.id == posted.id]
        [key] = [one.value for one in card.buttons if one.label == button.label]
        pressed = {"card_type": "button_interaction", "event_key": key, "task_id": posted.id.removeprefix("card/")}
        event = {"eventtype": "template_card_event", "template_card_event": pressed}
        body = self.server.body(place.chat, by, msgtype="event", event=event)
        await self.server.push("aibot_event_callback", body, place.chat)

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {"bad_format": Refused(40008), "forbidden": Refused(48002)}


@asynccontextmanager
async def wecom_rig():
    async with wired(WecomServer()) as server:
        harness = WecomHarness(server)
        yield harness
        await harness.kit.close()
