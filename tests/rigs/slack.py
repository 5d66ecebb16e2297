"""Slack's Web API and Socket Mode: the same addresses, envelopes and refusals, for one app in one workspace."""

import html
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from itertools import count
from typing import Any

from aiohttp import WSMsgType, web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.slack.adapter import Slack
from sojourn.platforms.slack.settings import SlackSettings
from sojourn.ports.platform import File, PlatformAdapter, Refusal
from sojourn.testing.platform_rig import Posted
from tests.rigs.loopback import Signal, hang_up, serving

TOKEN, APP_TOKEN = "xoxb-1111-2222-rigSecretOfTheBot", "xapp-1-A0RIG-3333-rigsecretoftheapp"
TEAM, US, DM, GARDEN = "T0RIG", "U0US", "D0ANN", "C0GARDEN"
ANN, BEN = Sender(id="U0ANN"), Sender(id="U0BEN")
CHANNELS = {DM: "im", "D0BEN": "im", GARDEN: "channel"}


class Refused(Exception):
    def __init__(self, error: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error)
        self.status, self.headers = status, headers or {}


class SlackServer:
    def __init__(self) -> None:
        self.posts: dict[tuple[str, str | None], list[Posted]] = {}
        self.waiting: dict[str, str] = {}  # envelopes that nobody has acknowledged
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.files: dict[str, bytes] = {}
        self.faults: list[Refused] = []
        self.dead, self.url, self.app_token = False, "", APP_TOKEN
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.changed, self._numbers, self._began = Signal(), count(1), int(time.time())

    # the wire
    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/api/{method}", self._call)
        app.router.add_get("/link", self._link)
        app.router.add_get("/files/{name}", self._file)
        return app

    async def _call(self, request: web.Request) -> web.Response:
        method, key = request.match_info["method"], request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = await request.json() if request.content_type == "application/json" else dict(await request.post())
        self.calls.append((method, given))
        if self.dead and method.startswith("chat."):
            hang_up(request)
        try:
            if key != (self.app_token if method == "apps.connections.open" else TOKEN):
                raise Refused("invalid_auth")
            result = await getattr(self, "_" + method.replace(".", "_"))(given)
        except Refused as error:
            body = {"ok": False, "error": str(error)}
            return web.json_response(body, status=error.status, headers=error.headers)
        return web.json_response({"ok": True} | result)

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        line = web.WebSocketResponse()
        await line.prepare(request)
        await line.send_json({"type": "hello", "num_connections": 1})
        for envelope in list(self.waiting.values()):
            await line.send_str(envelope)
        self.lines.append((request, line))
        self.changed.ring()
        try:
            async for message in line:
                if message.type == WSMsgType.TEXT:
                    self.waiting.pop(json.loads(message.data)["envelope_id"], None)
                    self.changed.ring()
        finally:
            self.lines.remove((request, line))
        return line

    async def _file(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(text="<html>sign in</html>", content_type="text/html")
        return web.Response(body=self.files[request.match_info["name"]], content_type="image/png")

    # what an app may call
    async def _auth_test(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"team_id": TEAM, "user_id": US, "bot_id": "B0US", "team": "Rig", "user": "sojourn", "url": self.url}

    async def _apps_connections_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"url": self.url.replace("http", "ws") + "/link?ticket=1"}

    async def _chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        channel, thread = self._checked(given), given.get("thread_ts")
        ts = await self.say(channel, thread, Sender(id=US, is_bot=True), given["text"], bot_id="B0US")
        return {"channel": channel, "ts": ts}

    async def _chat_update(self, given: dict[str, Any]) -> dict[str, Any]:
        channel = self._checked(given)
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == f"{channel}/{given['ts']}" and one.by == US:
                    posts[at] = Posted(id=one.id, text=html.unescape(given["text"]), by=US)
                    return {"channel": channel, "ts": given["ts"]}
        raise Refused("message_not_found")

    def _checked(self, given: dict[str, Any]) -> str:
        if self.faults:
            raise self.faults.pop(0)
        if given["channel"] not in CHANNELS:
            raise Refused("channel_not_found")
        if len(given["text"]) > 40_000:
            raise Refused("msg_too_long")
        return str(given["channel"])

    # what happens in the workspace
    async def say(self, channel: str, thread: str | None, by: Sender, text: str, **more: Any) -> str:
        ts = f"{self._began}.{next(self._numbers):06}"
        self.posts.setdefault((channel, thread), []).append(
            Posted(id=f"{channel}/{ts}", text=html.unescape(text), by=by.id)
        )
        event = {"type": "message", "channel": channel, "channel_type": CHANNELS[channel], "user": by.id, "text": text}
        event |= {"ts": ts, "event_ts": ts, "team": TEAM} | ({"thread_ts": thread} if thread else {}) | more
        await self.tell(event)
        return ts

    async def tell(self, event: dict[str, Any], kind: str = "events_api") -> None:
        envelope = f"e-{next(self._numbers)}"
        payload = {"team_id": TEAM, "type": "event_callback", "event": event, "event_id": f"Ev{envelope}"}
        told = {"envelope_id": envelope, "type": kind, "accepts_response_payload": False, "payload": payload}
        self.waiting[envelope] = json.dumps(told)
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):  # the line is going; the next one is told
                await line.send_str(self.waiting[envelope])

    async def until_linked(self) -> None:
        await self.changed.until(lambda: bool(self.lines))

    async def cut(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)


class SlackRig:
    lacks: Mapping[str, str] = {"bad format": "Slack shows any text, whatever the marks in it"}
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": f"{TEAM}/{DM}", "group": f"{TEAM}/{GARDEN}"}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (ANN, BEN)

    def __init__(self, server: SlackServer) -> None:
        self.server = server

    def connect(self, token: str = TOKEN, app_token: str = APP_TOKEN) -> Slack:
        url = f"{self.server.url}/api"
        return Slack(SlackSettings(token=Secret(token), app_token=Secret(app_token), base_url=url))

    def connect_wrongly(self) -> PlatformAdapter:
        return self.connect("xoxb-wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        text = html.escape(text, quote=False)
        more: dict[str, Any] = {"bot_id": "B0OTHER"} if by.is_bot else {}
        if place.kind != "dm":
            text = f"<@{US}> {text}"
        if files:
            [file] = files
            self.server.files[file.name] = file.data
            address = f"{self.server.url}/files/{file.name}"
            told = {"id": "F1", "name": file.name, "mimetype": file.media_type, "url_private_download": address}
            more |= {"subtype": "file_share", "files": [told]}
        return f"{place.chat}/{await self.server.say(place.chat, place.thread, by, text, **more)}"

    async def shown(self, place: Place) -> list[Posted]:
        return self.server.posts.get((place.chat, place.thread), [])

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        refusals = {
            "rate_limited": Refused("ratelimited", status=429, headers={"Retry-After": f"{retry_after or 1:g}"}),
            "forbidden": Refused("not_in_channel"),
            "not_found": Refused("channel_not_found"),
        }
        self.server.faults.append(refusals[kind])

    async def cut(self) -> None:
        await self.server.cut()

    async def break_sending(self) -> None:
        self.server.dead = True

    async def close(self) -> None: ...


@asynccontextmanager
async def slack_rig():
    server = SlackServer()
    async with serving(server.app()) as url:
        server.url = url
        yield SlackRig(server)
