"""Discord's REST API: the same routes, events and errors, for one bot in one server."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from sojourn.core.places import Sender
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.aiohttp_server import hang_up
from tests.servers.discord_gateway import DiscordGateway
from tests.servers.discord_payloads import (
    ANN,
    BOT,
    CATEGORY,
    DM,
    FORUM,
    FORUM_KIND,
    GARDEN,
    GUILD,
    PRIVATE,
    PUBLIC_THREAD,
    SHELF,
    SPOKEN,
    TEXT,
    TOKEN,
    US,
    VOICE,
    Refused,
    buttons_in,
    carried,
    channel,
    ids,
    now,
    seen,
    user,
)


class DiscordServer(DiscordGateway):
    def __init__(self) -> None:
        channels: dict[int, dict[str, Any]] = {
            GARDEN: channel(GARDEN, TEXT, "garden"),
            VOICE: channel(VOICE, SPOKEN, "porch", bitrate=64000, user_limit=0),
            FORUM: channel(FORUM, FORUM_KIND, "questions", available_tags=[], topic=None),
            SHELF: channel(SHELF, CATEGORY, "shelf"),
            DM: {"id": str(DM), "type": PRIVATE, "recipients": [user(ANN.id, ANN.name)], "last_message_id": None},
        }
        super().__init__(channels)
        self.posts: dict[int, list[PostedMessage]] = {}
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self.files: dict[str, bytes] = {}
        self.messages: dict[int, dict[str, Any]] = {}  # as a bot is told them
        self.buttons: dict[str, str] = {}  # that still show that they work, by their token
        self.hidden: set[int] = set()  # channels whose past the bot may not read
        self.faults: list[Refused] = []
        self.dead, self.tells_threads = False, True
        self.no_lone_threads, self.no_threads = False, False
        self._numbers = ids()

    # the wire
    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/gateway", self.gateway)
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
                given, uploads = await carried(request)
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

    async def _file(self, request: web.Request) -> web.Response:
        data = self.files.get(request.match_info["name"])
        return web.Response(body=data) if data is not None else web.Response(status=404)

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
            "name": "Harness",
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
                kept = buttons_in(given["components"]) if "components" in given else one.buttons
                self.posts[here][n] = PostedMessage(id=one.id, text=seen(given["content"]), by=one.by, buttons=kept)
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
        state = {"archived": False, "auto_archive_duration": 1440, "archive_timestamp": now(), "locked": False}
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
        buttons = buttons_in(more.get("components") or [])
        posted = PostedMessage(id=str(id), text=seen(text), by=by.id, files=tuple(uploads), buttons=buttons)
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

    async def press(self, here: int, posted: PostedMessage, value: str, by: Sender) -> None:
        id, person = next(self._numbers), user(by.id, by.name)
        self.buttons[f"secret{id}"] = str(id)
        told = {"id": str(id), "application_id": "1", "type": 3, "token": f"secret{id}", "version": 1}
        told |= {"channel_id": str(here), "channel": self.channels[here], "message": self.messages[int(posted.id)]}
        told |= {"data": {"custom_id": value, "component_type": 2}, "attachment_size_limit": 1}
        told |= {"entitlements": [], "authorizing_integration_owners": {}, "locale": "en"}
        if "guild_id" in self.channels[here]:
            member = {"user": person, "roles": [], "joined_at": now(), "deaf": False, "mute": False, "flags": 0}
            told |= {"guild_id": str(GUILD), "member": member | {"permissions": "0"}}
        else:
            told["user"] = person
        await self.tell("INTERACTION_CREATE", told)

    def _message(self, here: int, id: int, by: dict[str, Any], text: str) -> dict[str, Any]:
        told: dict[str, Any] = {"id": str(id), "channel_id": str(here), "author": by, "content": text, "type": 0}
        told |= {"timestamp": now(), "edited_timestamp": None, "tts": False, "mention_everyone": False, "pinned": False}
        told |= {key: [] for key in ("mentions", "mention_roles", "attachments", "embeds", "components")}
        if f"<@{BOT}>" in text:
            told["mentions"] = [US]
        return told | ({"guild_id": str(GUILD)} if "guild_id" in self.channels[here] else {})
