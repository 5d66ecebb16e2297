"""A server with the protocol of QQ's bots (WebSocket with resume, and REST), and the harness of `qqbot`."""

import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.qqbot import QqbotSettings
from sojourn.platforms.qqbot.adapter import Qqbot, make
from sojourn.ports.platform import Button, File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

APP, SECRET = "102000001", "s3cret-14142135"
ANN, BEN = Sender(id="ANNOPENID"), Sender(id="BENOPENID")


class Refused(Exception):
    def __init__(self, status: int, code: int) -> None:
        self.status, self.code = status, code


def answer(page: Any) -> web.Response:
    """QQ's own client reads JSON only if its type has no further parameters."""
    return web.Response(body=json.dumps(page).encode(), content_type="application/json")


class QqbotServer:
    """As documented: what a bot needs of it. A session is resumed behind the number that the bot gives."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.tokens: set[str] = set()
        self.token_result: dict[str, Any] | None = None
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.sessions: dict[str, list[dict[str, Any]]] = {}
        self.signed_in: list[dict[str, Any]] = []
        self.beats: list[Any] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.bodies: list[dict[str, Any]] = []
        self.used: set[tuple[str, int]] = set()
        self.confirmed: list[str] = []
        self.needs_ticket = False
        self.files: dict[str, File] = {}
        self.uploads: dict[str, File] = {}
        self.interval_ms = 30_000
        self.changed = Signal()
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/app/getAppAccessToken", self._token),
                web.get("/gateway/bot", self._gateway),
                web.get("/users/@me", self._profile),
                web.get("/ws", self._socket),
                web.post("/v2/{kind:users|groups}/{id}/messages", self._message),
                web.post("/{kind:channels|dms}/{id}/messages", self._message),
                web.post("/v2/{kind:users|groups}/{id}/files", self._upload),
                web.put("/interactions/{id}", self._confirm),
                web.get("/media/{id}", self._media),
            ]
        )
        return app

    async def _token(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if self.token_result is not None:
            return answer(self.token_result)
        if (asked["appId"], asked["clientSecret"]) != (APP, SECRET):
            return answer({"code": 100016, "message": "invalid appid or secret"})
        token = f"token{next(self._numbers)}"
        self.tokens.add(token)
        return answer({"access_token": token, "expires_in": "7200"})

    async def _check(self, request: web.Request) -> dict[str, Any]:
        if self.dead:
            hang_up(request)
        if request.headers.get("Authorization", "").removeprefix("QQBot ") not in self.tokens:
            raise self._to_web_error(Refused(401, 11243))
        return dict(await request.json()) if request.can_read_body else {}

    def _to_web_error(self, fault: Refused) -> web.HTTPException:
        kinds = {
            400: web.HTTPBadRequest,
            401: web.HTTPUnauthorized,
            403: web.HTTPForbidden,
            404: web.HTTPNotFound,
            429: web.HTTPTooManyRequests,
            202: web.HTTPAccepted,
        }
        text = json.dumps({"code": fault.code, "message": "refused"})
        return kinds.get(fault.status, web.HTTPInternalServerError)(text=text, content_type="application/json")

    async def _gateway(self, request: web.Request) -> web.StreamResponse:
        await self._check(request)
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        address = f"ws{self.url.removeprefix('http')}/ws"
        return answer({"url": address, "shards": 1, "session_start_limit": limit})

    async def _profile(self, request: web.Request) -> web.StreamResponse:
        await self._check(request)
        return answer({"id": "1", "username": "Garden", "avatar": "https://q.example/1.png"})

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        await line.send_json({"op": 10, "d": {"heartbeat_interval": self.interval_ms}})
        try:
            async for message in line:
                frame = json.loads(message.data)
                if frame["op"] == 1:
                    self.beats.append(frame["d"])
                    await line.send_json({"op": 11})
                else:
                    await self._sign_in(request, line, frame)
                self.changed.ring()
        finally:
            self.lines = [one for one in self.lines if one[1] is not line]
            self.changed.ring()
        return line

    async def _sign_in(self, request: web.Request, line: web.WebSocketResponse, frame: Any) -> None:
        self.signed_in.append(frame)
        given = frame["d"]
        assert given["token"].removeprefix("QQBot ") in self.tokens
        if frame["op"] == 6:
            if given["session_id"] not in self.sessions:
                await line.send_json({"op": 9, "d": False})
                return
            for event in self.sessions[given["session_id"]]:
                if event["s"] > given["seq"]:
                    await line.send_json(event)
            await line.send_json({"op": 0, "t": "RESUMED", "s": next(self._numbers), "d": ""})
        else:
            assert given["intents"] & 1 << 25
            session = f"session{next(self._numbers)}"
            self.sessions = {session: []}
            user = {"id": "1", "username": "Garden", "bot": True}
            ready = {"version": 1, "session_id": session, "user": user, "shard": [0, 1]}
            await line.send_json({"op": 0, "t": "READY", "s": next(self._numbers), "d": ready})
        self.lines.append((request, line))

    async def push(self, event: str, data: Any, *, keep: bool = True) -> None:
        frame = {"op": 0, "t": event, "s": next(self._numbers), "d": data, "id": f"{event}:x"}
        if keep:
            for events in self.sessions.values():
                events.append(frame)
        await self.push_raw(json.dumps(frame))

    async def push_raw(self, text: str) -> None:
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):
                await line.send_str(text)

    async def _message(self, request: web.Request) -> web.StreamResponse:
        asked = {name: one for name, one in (await self._check(request)).items() if one is not None}
        self.bodies.append(asked)
        if self.faults:
            raise self._to_web_error(self.faults.pop(0))
        kind = {"users": "c2c", "groups": "group", "channels": "channel", "dms": "dms"}[request.match_info["kind"]]
        if "msg_id" in asked and kind in ("c2c", "group"):
            if (once := (asked["msg_id"], asked["msg_seq"])) in self.used:
                raise self._to_web_error(Refused(400, 40054005))
            self.used.add(once)
        elif self.needs_ticket:
            raise self._to_web_error(Refused(400, 40034102))
        id, text = f"ROBOT{next(self._numbers)}", asked.get("content") or asked.get("markdown", {}).get("content", "")
        files = (self.uploads[asked["media"]["file_info"]],) if asked.get("msg_type") == 7 else ()
        rows = asked.get("keyboard", {}).get("content", {}).get("rows", [])
        found = [one for row in rows for one in row["buttons"]]
        buttons = tuple(Button(label=one["render_data"]["label"], value=one["action"]["data"]) for one in found)
        shown = json.loads(buttons[0].value)["id"] if buttons else id
        posted = PostedMessage(id=shown, text=text, by="bot", files=files, buttons=buttons)
        self.posts.setdefault(f"{kind}:{request.match_info['id']}", []).append(posted)
        return answer({"id": id, "timestamp": datetime.now(UTC).isoformat()})

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        asked = await self._check(request)
        assert asked["srv_send_msg"] is False
        info = f"info{next(self._numbers)}"
        data = base64.b64decode(asked["file_data"])
        self.uploads[info] = File(name="", media_type=str(asked["file_type"]), data=data)
        return answer({"file_uuid": "u", "file_info": info, "ttl": 600})

    async def _confirm(self, request: web.Request) -> web.StreamResponse:
        assert await self._check(request) == {"code": 0}
        self.confirmed.append(request.match_info["id"])
        self.changed.ring()
        return answer({})

    async def _media(self, request: web.Request) -> web.StreamResponse:
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.data, content_type=file.media_type)

    async def drop_connections(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)

    async def until_linked(self) -> None:
        await self.changed.until(lambda: bool(self.lines))

    def message(self, chat: str, by: Sender, text: str, **more: Any) -> tuple[str, dict[str, Any]]:
        kind, _, id = chat.partition(":")
        now = datetime.now(UTC).isoformat(timespec="seconds")
        base = {"id": f"ROBOT1.0_{next(self._numbers)}", "content": text, "timestamp": now}
        match kind:
            case "c2c":
                return "C2C_MESSAGE_CREATE", base | {"author": {"user_openid": by.id, "bot": by.is_bot}} | more
            case "group":
                author = {"member_openid": by.id, "bot": by.is_bot}
                at = {"group_openid": id, "content": f" {text}"}
                return "GROUP_AT_MESSAGE_CREATE", base | {"author": author} | at | more
        author = {"id": by.id, "username": by.name, "bot": by.is_bot}
        return "AT_MESSAGE_CREATE", base | {"author": author, "channel_id": id, "content": f"<@!1> {text}"} | more


class QqbotHarness(WiredHarness[QqbotServer]):
    lacks: Mapping[str, str] = {
        "own messages": "QQ tells a bot only what people write",
        "rate limit": "QQ does not say how long to wait",
    }
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": f"c2c:{ANN.id}", "group": "group:GARDENID", "channel": "channel:77"}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: QqbotServer, markdown: bool) -> None:
        self.server, self.kit, self._markdown = server, AdapterKit(None), markdown

    def connect(self, secret: str = SECRET) -> Qqbot:
        url = self.server.url
        settings = QqbotSettings(
            app_id=APP, client_secret=Secret(secret), markdown=self._markdown, base_url=url, token_url=url
        )
        return make(With(self.kit, settings))

    def connect_wrongly(self) -> Qqbot:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        event, data = self.server.message(place.chat, by, text)
        if files:
            self.server.files["in"] = files[0]
            link = {"url": f"{self.server.url}/media/in", "filename": "dot.png", "content_type": "image/png"}
            data["attachments"] = [link]
        await self.server.push(event, data)
        return str(data["id"])

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
        [asked] = [one for one in self.server.posts[place.chat] if one.id == posted.id]
        [data] = [one.value for one in asked.buttons if one.label == button.label]
        event = {
            "id": f"interaction{next(self.server._numbers)}",
            "type": 11,
            "scene": "c2c",
            "chat_type": 2,
            "user_openid": by.id,
            "data": {"type": 11, "resolved": {"button_data": data, "button_id": "0"}},
        }
        await self.server.push("INTERACTION_CREATE", event)

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {"bad_format": Refused(400, 304003), "forbidden": Refused(400, 304022), "not_found": Refused(404, 10004)}


@asynccontextmanager
async def qqbot_rig(markdown: bool = False):
    async with wired(QqbotServer()) as server:
        harness = QqbotHarness(server, markdown)
        yield harness
        await harness.kit.close()
