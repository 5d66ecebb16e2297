"""Slack's Web API and Socket Mode: the same routes, envelopes and errors, for one app in one workspace."""

import html
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
from sojourn.platforms.slack import SlackSettings
from sojourn.platforms.slack.adapter import Slack
from sojourn.ports.platform import Button, File, PlatformAdapter
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

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
        self.posts: dict[tuple[str, str | None], list[PostedMessage]] = {}
        self.waiting: dict[str, str] = {}  # envelopes that nobody has acknowledged
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.files: dict[str, bytes] = {}
        self.uploads: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []  # everything that was said
        self.lacking: set[str] = set()  # methods for which the app has no scope
        self.faults: list[Refused] = []
        self.dead, self.url, self.app_token = False, "", APP_TOKEN
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.changed, self._numbers = Signal(), count(1)

    # the wire
    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/api/{method}", self._call)
        app.router.add_get("/api/{method}", self._call)
        app.router.add_post("/upload/{id}", self._upload)
        app.router.add_get("/link", self._link)
        app.router.add_get("/files/{name}", self._file)
        return app

    async def _call(self, request: web.Request) -> web.Response:
        method, key = request.match_info["method"], request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = await request.json() if request.content_type == "application/json" else dict(await request.post())
        given |= dict(request.query)
        self.calls.append((method, given))
        if self.dead and method.startswith("chat."):
            hang_up(request)
        try:
            if key != (self.app_token if method == "apps.connections.open" else TOKEN):
                raise Refused("invalid_auth")
            if method in self.lacking:
                raise Refused("missing_scope")
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
        return {"team_id": TEAM, "user_id": US, "bot_id": "B0US", "team": "Harness", "user": "sojourn", "url": self.url}

    async def _apps_connections_open(self, given: dict[str, Any]) -> dict[str, Any]:
        return {"url": self.url.replace("http", "ws") + "/link?ticket=1"}

    async def _chat_postMessage(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        channel, thread = self._checked(given), given.get("thread_ts")
        us, blocks = Sender(id=US, is_bot=True), given.get("blocks") or []
        ts = await self.say(channel, thread, us, given["text"], bot_id="B0US", blocks=blocks)
        return {"channel": channel, "ts": ts}

    async def _chat_update(self, given: dict[str, Any]) -> dict[str, Any]:
        channel = self._checked(given)
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == f"{channel}/{given['ts']}" and one.by == US:
                    kept = _buttons(given["blocks"]) if "blocks" in given else one.buttons
                    posts[at] = PostedMessage(id=one.id, text=html.unescape(given["text"]), by=US, buttons=kept)
                    return {"channel": channel, "ts": given["ts"]}
        raise Refused("message_not_found")

    async def _users_conversations(self, given: dict[str, Any]) -> dict[str, Any]:
        kind = {"im": "im", "public_channel": "channel"}.get(given["types"])
        return {"channels": [{"id": id} for id, one in CHANNELS.items() if one == kind]}

    async def _conversations_history(self, given: dict[str, Any]) -> dict[str, Any]:
        found = [one for one in self.events if one["channel"] == given["channel"] and "thread_ts" not in one]
        return self._page(found, given)

    async def _conversations_replies(self, given: dict[str, Any]) -> dict[str, Any]:
        wanted = (given["channel"], given["ts"])
        found = [one for one in self.events if (one["channel"], one.get("thread_ts", one["ts"])) == wanted]
        return self._page(found, given)

    def _page(self, found: list[dict[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
        """Two at a time, newest first, so that there are pages; and as Slack has it, without the channel."""
        if self.faults:
            raise self.faults.pop(0)
        newer = [one for one in found if one["ts"] > given.get("oldest", "")][::-1]
        at = int(given.get("cursor") or 0)
        told = [{k: v for k, v in one.items() if k not in ("channel", "channel_type")} for one in newer[at : at + 2]]
        more = {"next_cursor": str(at + 2) if at + 2 < len(newer) else ""}
        replies = [one.get("thread_ts") for one in self.events]
        told = [one | ({"reply_count": 1} if one["ts"] in replies else {}) for one in told]
        return {"messages": told, "has_more": bool(more["next_cursor"]), "response_metadata": more}

    async def _files_getUploadURLExternal(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        id = f"F{next(self._numbers)}"
        self.uploads[id] = {"name": given["filename"], "length": int(given["length"])}
        return {"upload_url": f"{self.url}/upload/{id}", "file_id": id}

    async def _upload(self, request: web.Request) -> web.Response:
        about, data = self.uploads[request.match_info["id"]], await request.read()
        assert len(data) == about["length"]
        about["data"] = data
        return web.Response(text=f"OK - {len(data)}")

    async def _files_completeUploadExternal(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        files = json.loads(given["files"]) if isinstance(given["files"], str) else given["files"]
        about = self.uploads[files[0]["id"]]
        file = File(name=about["name"], media_type="image/png", data=about["data"])
        us, text = Sender(id=US, is_bot=True), given.get("initial_comment") or ""
        about["ts"] = await self.say(given["channel_id"], given.get("thread_ts"), us, text, bot_id="B0US", ours=[file])
        about["channel"] = given["channel_id"]
        return {"files": [{"id": files[0]["id"]}]}

    async def _files_info(self, given: dict[str, Any]) -> dict[str, Any]:
        about = self.uploads[given["file"]]
        about["looks"] = about.get("looks", 0) + 1  # Slack takes its time to tell
        shares = {"private": {about["channel"]: [{"ts": about["ts"]}]}} if about["looks"] > 1 else {}
        return {"file": {"id": given["file"], "shares": shares}}

    async def _reactions_add(self, given: dict[str, Any]) -> dict[str, Any]:
        sign = {"eyes": "👀", "+1": "👍"}.get(given["name"])
        if sign is None:
            raise Refused("invalid_name")
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == f"{given['channel']}/{given['timestamp']}":
                    if sign in one.reactions:
                        raise Refused("already_reacted")
                    posts[at] = replace(one, reactions=(*one.reactions, sign))
                    return {}
        raise Refused("message_not_found")

    async def _assistant_threads_setStatus(self, given: dict[str, Any]) -> dict[str, Any]:  # noqa: N802
        assert given["status"]
        assert given["thread_ts"]
        return {}

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
        now = int(time.time() * 1_000_000) + next(self._numbers)
        ts = f"{now // 1_000_000}.{now % 1_000_000:06}"
        files, buttons = tuple(more.pop("ours", ())), _buttons(more.get("blocks") or [])
        self.posts.setdefault((channel, thread), []).append(
            PostedMessage(id=f"{channel}/{ts}", text=html.unescape(text), by=by.id, files=files, buttons=buttons)
        )
        event = {"type": "message", "channel": channel, "channel_type": CHANNELS[channel], "user": by.id, "text": text}
        event |= {"ts": ts, "event_ts": ts, "team": TEAM} | ({"thread_ts": thread} if thread else {}) | more
        self.events.append(event)
        await self.tell(event)
        return ts

    async def press(self, channel: str, thread: str | None, posted: PostedMessage, button: Button, by: Sender) -> None:
        ts = posted.id.rpartition("/")[2]
        message = {"ts": ts, "text": posted.text, "user": US} | ({"thread_ts": thread} if thread else {})
        action: dict[str, Any] = {
            "action_id": "b0",
            "type": "button",
            "value": button.value,
            "action_ts": f"1.{next(self._numbers)}",
        }
        action["text"] = {"type": "plain_text", "text": button.label}
        payload = {"type": "block_actions", "user": {"id": by.id}, "channel": {"id": channel}, "message": message}
        await self._envelope(payload | {"actions": [action]}, "interactive")

    async def tell(self, event: dict[str, Any], kind: str = "events_api") -> None:
        payload = {"team_id": TEAM, "type": "event_callback", "event": event, "event_id": f"Ev{next(self._numbers)}"}
        await self._envelope(payload, kind)

    async def _envelope(self, payload: dict[str, Any], kind: str) -> None:
        envelope = f"e-{next(self._numbers)}"
        told = {"envelope_id": envelope, "type": kind, "accepts_response_payload": False, "payload": payload}
        self.waiting[envelope] = json.dumps(told)
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):  # the line is going; the next one is told
                await line.send_str(self.waiting[envelope])

    async def until_linked(self) -> None:
        await self.changed.until(lambda: bool(self.lines))

    async def drop_connections(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)


def _buttons(blocks: list[dict[str, Any]]) -> tuple[Button, ...]:
    assert all(len(one["text"]["text"]) <= 3000 for one in blocks if one["type"] == "section")
    keys = [key for one in blocks if one["type"] == "actions" for key in one["elements"]]
    assert len({key["action_id"] for key in keys}) == len(keys)
    return tuple(Button(label=key["text"]["text"], value=key["value"]) for key in keys)


class SlackHarness(WiredHarness[SlackServer]):
    lacks: Mapping[str, str] = {"bad format": "Slack shows any text, whatever the marks in it"}
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": f"{TEAM}/{DM}", "group": f"{TEAM}/{GARDEN}"}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (ANN, BEN)

    def __init__(self, server: SlackServer) -> None:
        self.server, self.kit = server, AdapterKit(None)

    def connect(self, token: str = TOKEN, app_token: str = APP_TOKEN) -> Slack:
        url = f"{self.server.url}/api"
        return Slack(With(self.kit, SlackSettings(token=Secret(token), app_token=Secret(app_token), base_url=url)))

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

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get((place.chat, place.thread), [])

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        await self.server.press(place.chat, place.thread, posted, button, by)

    def refusals(self, retry_after: float | None) -> Mapping[str, Refused]:
        return {
            "rate_limited": Refused("ratelimited", status=429, headers={"Retry-After": f"{retry_after or 1:g}"}),
            "forbidden": Refused("not_in_channel"),
            "not_found": Refused("channel_not_found"),
        }


@asynccontextmanager
async def slack_rig():
    async with wired(SlackServer()) as server:
        harness = SlackHarness(server)
        yield harness
        await harness.kit.close()
