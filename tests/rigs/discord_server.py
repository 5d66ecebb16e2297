"""Discord's REST API and gateway: the same addresses, events and refusals, for one bot in one server."""

import json
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any
from urllib.parse import unquote

from aiohttp import WSMsgType, web

from sojourn.core.places import Sender
from sojourn.ports.platform import Button, File
from sojourn.testing.platform_rig import Posted
from tests.rigs.loopback import Signal, hang_up

TOKEN = "NzAw.rig.SecretOfTheBot"  # begins with the bot's id, 700, as tokens do
BOT, GUILD, DM, GARDEN, VOICE, FORUM, SHELF = 700, 800, 900, 801, 802, 803, 804
ANN, BEN = Sender(id="501", name="Ann"), Sender(id="502", name="Ben")
TEXT, PRIVATE, SPOKEN, CATEGORY, PUBLIC_THREAD, FORUM_KIND = 0, 1, 2, 4, 11, 15


def user(id: int | str, name: str, *, bot: bool = False) -> dict[str, Any]:
    return {"id": str(id), "username": name, "discriminator": "0", "avatar": None, "global_name": name, "bot": bot}


US = user(BOT, "sojourn", bot=True)


def channel(id: int, kind: int, name: str, **more: Any) -> dict[str, Any]:
    told = {"id": str(id), "type": kind, "guild_id": str(GUILD), "name": name, "position": 0, "nsfw": False}
    return told | {"permission_overwrites": [], "parent_id": None} | more


class Refused(Exception):
    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.headers = status, more.pop("headers", {})
        self.body = {"code": code, "message": message} | more


class Session:
    """What a bot has been told since it identified; it can come back and hear the rest."""

    def __init__(self, id: str) -> None:
        self.id, self.events = id, list[str]()
        self.line: Line | None = None


class Line:
    """One websocket, its text in one zlib stream."""

    def __init__(self, request: web.Request, ws: web.WebSocketResponse) -> None:
        self.request, self.ws, self._zlib = request, ws, zlib.compressobj()

    async def send(self, text: str) -> None:
        await self.ws.send_bytes(self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH))


class DiscordServer:
    def __init__(self) -> None:
        self.channels: dict[int, dict[str, Any]] = {
            GARDEN: channel(GARDEN, TEXT, "garden"),
            VOICE: channel(VOICE, SPOKEN, "porch", bitrate=64000, user_limit=0),
            FORUM: channel(FORUM, FORUM_KIND, "questions", available_tags=[], topic=None),
            SHELF: channel(SHELF, CATEGORY, "shelf"),
            DM: {"id": str(DM), "type": PRIVATE, "recipients": [user(ANN.id, ANN.name)], "last_message_id": None},
        }
        self.posts: dict[int, list[Posted]] = {}
        self.sessions: dict[str, Session] = {}
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.resumed: list[int] = []  # after which event a line went on
        self.files: dict[str, bytes] = {}
        self.messages: dict[int, dict[str, Any]] = {}  # as a bot is told them
        self.buttons: dict[str, str] = {}  # that still show that they work, by their token
        self.hidden: set[int] = set()  # channels whose past the bot may not read
        self.faults: list[Refused] = []
        self.dead, self.url, self.close_with, self.tells_threads = False, "", 0, True
        self.no_lone_threads, self.no_threads = False, False
        self.changed, self._numbers = Signal(), _ids()

    # the wire
    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/gateway", self._gateway)
        app.router.add_get("/files/{name}", self._file)
        for method, path, does in (
            ("GET", "/users/@me", self._me),
            ("GET", "/oauth2/applications/@me", self._application),
            ("GET", "/gateway/bot", self._where),
            ("GET", "/channels/{channel}", self._channel),
            ("POST", "/channels/{channel}/typing", self._nothing),
            ("POST", "/channels/{channel}/messages", self._send),
            ("PATCH", "/channels/{channel}/messages/{message}", self._edit),
            ("DELETE", "/channels/{channel}/messages/{message}", self._delete),
            ("PUT", "/channels/{channel}/messages/{message}/reactions/{sign}/@me", self._react),
            ("GET", "/channels/{channel}/messages", self._history),
            ("GET", "/users/@me/guilds", self._guilds),
            ("GET", "/guilds/{guild}/channels", self._all_channels),
            ("GET", "/guilds/{guild}/threads/active", self._open_threads),
            ("POST", "/interactions/{id}/{token}/callback", self._let_go),
            ("POST", "/channels/{channel}/threads", self._thread),
            ("POST", "/channels/{channel}/messages/{message}/threads", self._thread_on),
        ):
            app.router.add_route(method, f"/api{path}", self._answering(does))
        return app

    def _answering(self, does: Any) -> Any:
        async def answer(request: web.Request) -> web.Response:
            status, headers = 200, {}
            try:
                if request.headers.get("Authorization") != f"Bot {TOKEN}":
                    raise Refused(401, 0, "401: Unauthorized")
                given, uploads = await _given(request)
                given |= dict(request.query)
                self.calls.append((request.method, request.path.removeprefix("/api"), given))
                if self.dead and request.method in ("POST", "PATCH"):
                    hang_up(request)
                body = await does(request.match_info, given, uploads)
            except Refused as error:
                status, headers, body = error.status, error.headers, error.body
            # exactly this type: with a character set behind it the library does not read it
            if body is None:
                return web.Response(status=204)
            told = json.dumps(body).encode()
            return web.Response(status=status, body=told, headers={"Content-Type": "application/json"} | headers)

        return answer

    async def _gateway(self, request: web.Request) -> web.WebSocketResponse:
        assert request.query["compress"] == "zlib-stream"
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        line, session = Line(request, ws), None
        await line.send(json.dumps({"op": 10, "d": {"heartbeat_interval": 41250}}))
        try:
            async for message in ws:
                if message.type != WSMsgType.TEXT:
                    continue
                said = json.loads(message.data)
                if said["op"] == 1:
                    await line.send(json.dumps({"op": 11}))
                elif said["op"] == 2:
                    session = await self._identify(line, said["d"])
                elif said["op"] == 6:
                    session = await self._resume(line, said["d"])
        finally:
            if session is not None and session.line is line:
                session.line = None
        return ws

    async def _identify(self, line: Line, said: dict[str, Any]) -> Session | None:
        if self.close_with or said["token"] != TOKEN:
            await line.ws.close(code=self.close_with or 4004)
            return None
        assert said["intents"] & (1 << 15), "without the content of messages nothing is heard"
        session = Session(f"s{len(self.sessions)}")
        self.sessions[session.id], session.line = session, line
        where = self.url.replace("http", "ws") + "/gateway"
        ready = {"v": 10, "user": US, "session_id": session.id, "resume_gateway_url": where, "private_channels": []}
        ready |= {"guilds": [{"id": str(GUILD), "unavailable": True}], "application": {"id": "1", "flags": 0}}
        await self._tell(session, "READY", ready)
        await self._tell(session, "GUILD_CREATE", self._guild())
        self.changed.ring()
        return session

    async def _resume(self, line: Line, said: dict[str, Any]) -> Session | None:
        session = self.sessions.get(said["session_id"])
        if session is None:
            await line.send(json.dumps({"op": 9, "d": False}))
            return None
        session.line = line
        self.resumed.append(said["seq"])
        for event in session.events[said["seq"] :]:
            await line.send(event)
        await self._tell(session, "RESUMED", {})
        self.changed.ring()
        return session

    async def tell(self, event: str, data: dict[str, Any]) -> None:
        for session in self.sessions.values():
            await self._tell(session, event, data)

    async def _tell(self, session: Session, event: str, data: dict[str, Any]) -> None:
        session.events.append(json.dumps({"op": 0, "s": len(session.events) + 1, "t": event, "d": data}))
        if session.line is not None:
            with suppress(ConnectionError):
                await session.line.send(session.events[-1])

    async def _file(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["name"])
        return web.Response(body=data) if data is not None else web.Response(status=404)

    def _guild(self) -> dict[str, Any]:
        here = [one for one in self.channels.values() if one["type"] not in (PRIVATE, PUBLIC_THREAD)]
        empty: dict[str, Any] = {key: [] for key in ("emojis", "stickers", "features", "members", "presences")}
        told: dict[str, Any] = {
            "id": str(GUILD),
            "name": "Rig",
            "owner_id": ANN.id,
            "channels": here,
            "threads": [],
            "roles": [],
        }
        return told | empty | {"voice_states": [], "stage_instances": [], "guild_scheduled_events": []}

    # what a bot may call
    async def _me(self, at: Any, given: Any, uploads: Any) -> Any:
        return US

    async def _application(self, at: Any, given: Any, uploads: Any) -> Any:
        told = {"id": "1", "name": "Sojourn", "icon": None, "description": "", "bot_public": False, "flags": 1 << 19}
        return told | {"bot_require_code_grant": False, "owner": user(ANN.id, ANN.name), "team": None, "verify_key": ""}

    async def _where(self, at: Any, given: Any, uploads: Any) -> Any:
        limit = {"total": 1000, "remaining": 999, "reset_after": 1, "max_concurrency": 1}
        return {"url": self.url.replace("http", "ws") + "/gateway", "shards": 1, "session_start_limit": limit}

    async def _channel(self, at: Any, given: Any, uploads: Any) -> Any:
        return self.channels[self._here(at)]

    async def _nothing(self, at: Any, given: Any, uploads: Any) -> Any:
        self._here(at)

    async def _react(self, at: Any, given: Any, uploads: Any) -> Any:
        here = self.posts[self._here(at)]
        n = next(n for n, one in enumerate(here) if one.id == at["message"])
        here[n] = replace(here[n], reactions=(*here[n].reactions, unquote(at["sign"])))

    async def _guilds(self, at: Any, given: Any, uploads: Any) -> Any:
        told: dict[str, Any] = {
            "id": str(GUILD),
            "name": "Rig",
            "icon": None,
            "owner": False,
            "permissions": "0",
            "features": [],
        }
        return [told] if int(given.get("after", 0)) < GUILD else []

    async def _all_channels(self, at: Any, given: Any, uploads: Any) -> Any:
        here = [one for one in self.channels.values() if one["type"] not in (PRIVATE, PUBLIC_THREAD)]
        return [self._with_last(one) for one in here]

    async def _open_threads(self, at: Any, given: Any, uploads: Any) -> Any:
        here = [one for one in self.channels.values() if one["type"] == PUBLIC_THREAD]
        return {"threads": [self._with_last(one) for one in here], "members": [], "has_more": False}

    def _with_last(self, one: dict[str, Any]) -> dict[str, Any]:
        posts = self.posts.get(int(one["id"]), [])
        return one | {"last_message_id": posts[-1].id if posts else None}

    async def _history(self, at: Any, given: Any, uploads: Any) -> Any:
        here, after, most = self._here(at), int(given.get("after", 0)), int(given.get("limit", 50))
        if here in self.hidden:
            raise Refused(403, 50001, "Missing Access")
        newer = [int(one.id) for one in self.posts.get(here, []) if int(one.id) > after]
        told = [{k: v for k, v in self.messages[one].items() if k != "guild_id"} for one in newer[:most]]
        return told[::-1]  # Discord gives the oldest after that id, newest first

    async def _let_go(self, at: Any, given: Any, uploads: Any) -> Any:
        if self.buttons.pop(at["token"], None) != at["id"]:
            raise Refused(404, 10062, "Unknown interaction")
        assert given["type"] == 6

    async def _send(self, at: Any, given: Any, uploads: Any) -> Any:
        here = self._here(at)
        if self.faults:
            raise self.faults.pop(0)
        self._check(given["content"])
        us, shown = Sender(id=str(BOT), name="sojourn", is_bot=True), given.get("components") or []
        return await self.say(here, us, given["content"], uploads=uploads, components=shown)

    async def _edit(self, at: Any, given: Any, uploads: Any) -> Any:
        here = self._here(at)
        self._check(given["content"])
        for n, one in enumerate(self.posts.get(here, [])):
            if one.id == at["message"]:
                kept = _buttons(given["components"]) if "components" in given else one.buttons
                self.posts[here][n] = Posted(id=one.id, text=_seen(given["content"]), by=one.by, buttons=kept)
                return self._message(here, int(one.id), US, given["content"])
        raise Refused(404, 10008, "Unknown Message")

    async def _delete(self, at: Any, given: Any, uploads: Any) -> Any:
        here = self._here(at)
        self.posts[here] = [one for one in self.posts[here] if one.id != at["message"]]

    async def _thread(self, at: Any, given: Any, uploads: Any) -> Any:
        here = self._here(at)
        if self.no_lone_threads or self.no_threads:
            raise Refused(403, 50013, "Missing Permissions")
        made = await self._open(here, given["name"])
        if self.channels[here]["type"] == FORUM_KIND:
            first = await self.say(int(made["id"]), Sender(id=str(BOT), is_bot=True), given["message"]["content"])
            return made | {"message": first}
        assert given["type"] == PUBLIC_THREAD
        return made

    async def _thread_on(self, at: Any, given: Any, uploads: Any) -> Any:
        if self.no_threads:
            raise Refused(403, 50013, "Missing Permissions")
        return await self._open(self._here(at), given["name"], int(at["message"]))

    async def _open(self, parent: int, name: str, id: int = 0) -> dict[str, Any]:
        if not 1 <= len(name) <= 100:
            raise Refused(400, 50035, "Invalid Form Body")
        state = {"archived": False, "auto_archive_duration": 1440, "archive_timestamp": _now(), "locked": False}
        id = id or next(self._numbers)
        made = channel(id, PUBLIC_THREAD, name, parent_id=str(parent), owner_id=str(BOT), thread_metadata=state)
        self.channels[id] = made | {"message_count": 0, "member_count": 1}
        if self.tells_threads:
            await self.tell("THREAD_CREATE", self.channels[id])
        return self.channels[id]

    def _here(self, at: Any) -> int:
        if int(at["channel"]) not in self.channels:
            raise Refused(404, 10003, "Unknown Channel")
        return int(at["channel"])

    def _check(self, content: str) -> None:
        if len(content) > 2000:
            why = {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}
            raise Refused(400, 50035, "Invalid Form Body", errors={"content": {"_errors": [why]}})

    # what happens in the server
    async def say(
        self, here: int, by: Sender, text: str, *, uploads: Sequence[File] = (), **more: Any
    ) -> dict[str, Any]:
        id = next(self._numbers)
        buttons = _buttons(more.get("components") or [])
        posted = Posted(id=str(id), text=_seen(text), by=by.id, files=tuple(uploads), buttons=buttons)
        self.posts.setdefault(here, []).append(posted)
        message = self._message(here, id, user(by.id, by.name, bot=by.is_bot), text)
        for file in uploads:
            self.files[file.name] = file.data
            told = {"id": str(id), "filename": file.name, "size": len(file.data), "content_type": file.media_type}
            told |= {"url": f"{self.url}/files/{file.name}", "proxy_url": f"{self.url}/files/{file.name}"}
            message["attachments"].append(told)
        self.messages[id] = message | more
        await self.tell("MESSAGE_CREATE", message | more)
        return message | more

    async def press(self, here: int, posted: Posted, value: str, by: Sender) -> None:
        id, person = next(self._numbers), user(by.id, by.name)
        self.buttons[f"secret{id}"] = str(id)
        told = {"id": str(id), "application_id": "1", "type": 3, "token": f"secret{id}", "version": 1}
        told |= {"channel_id": str(here), "channel": self.channels[here], "message": self.messages[int(posted.id)]}
        told |= {"data": {"custom_id": value, "component_type": 2}, "attachment_size_limit": 1}
        told |= {"entitlements": [], "authorizing_integration_owners": {}, "locale": "en"}
        if "guild_id" in self.channels[here]:
            member = {"user": person, "roles": [], "joined_at": _now(), "deaf": False, "mute": False, "flags": 0}
            told |= {"guild_id": str(GUILD), "member": member | {"permissions": "0"}}
        else:
            told["user"] = person
        await self.tell("INTERACTION_CREATE", told)

    def _message(self, here: int, id: int, by: dict[str, Any], text: str) -> dict[str, Any]:
        told: dict[str, Any] = {"id": str(id), "channel_id": str(here), "author": by, "content": text, "type": 0}
        told |= {
            "timestamp": _now(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "pinned": False,
        }
        told |= {key: [] for key in ("mentions", "mention_roles", "attachments", "embeds", "components")}
        if f"<@{BOT}>" in text:
            told["mentions"] = [US]
        return told | ({"guild_id": str(GUILD)} if "guild_id" in self.channels[here] else {})

    async def until_linked(self) -> None:
        await self.changed.until(lambda: any(one.line for one in self.sessions.values()))

    async def cut(self) -> None:
        await self.until_linked()
        for session in self.sessions.values():
            if session.line is not None:
                hang_up(session.line.request)
                session.line = None


def _ids() -> Iterator[int]:
    """They tell the time."""
    for n in count():
        yield (int(time.time() * 1000 - 1_420_070_400_000) << 22) + n


def _buttons(rows: list[dict[str, Any]]) -> tuple[Button, ...]:
    return tuple(Button(label=one["label"], value=one["custom_id"]) for row in rows for one in row["components"])


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _seen(content: str) -> str:
    """As people see it: a backslash before a mark hides itself."""
    return re.sub(r"\\([^A-Za-z0-9\s])", r"\1", content)


async def _given(request: web.Request) -> tuple[dict[str, Any], list[File]]:
    if not request.content_type.startswith("multipart/"):
        return (await request.json() if request.can_read_body else {}), []
    form = await request.post()
    files = [
        File(name=one.filename, media_type=one.content_type, data=one.file.read())
        for key, one in form.items()
        if key.startswith("files[") and isinstance(one, web.FileField)
    ]
    return {"content": ""} | json.loads(str(form["payload_json"])), files
