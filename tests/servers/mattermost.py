"""A server with Mattermost's protocol (REST v4 and websocket), and the test harness of `mattermost`."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.mattermost import MattermostSettings
from sojourn.platforms.mattermost.adapter import Mattermost
from sojourn.ports.platform import File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import With
from tests.servers.starlette_server import WebHarness

TOKEN = "t0ken27182818284590452353"
US = "u" * 26
USERS = {US: "sojourn", "a" * 26: "ann", "b" * 26: "ben"}
CHANNELS = {"d" * 26: "D", "o" * 26: "O", "g" * 26: "G"}
_STATUS = {"forbidden": 403, "not_found": 404, "rate_limited": 429}
Json = dict[str, Any]


class MattermostServer:
    """As documented for API v4: what a bot account needs of it."""

    def __init__(self) -> None:
        self.posts: dict[str, Json] = {}
        self.channels = dict(CHANNELS)
        self.files: dict[str, File] = {}
        self.typed: list[Json] = []
        self.refusal: tuple[int, dict[str, str]] | None = None
        self.lines: list[WebSocket] = []
        self._numbers = count(1)
        self.app = Starlette(
            routes=[
                Route("/api/v4/users/me", self._me),
                Route("/api/v4/users/me/channels", self._channels),
                Route("/api/v4/users/me/typing", self._typing, methods=["POST"]),
                Route("/api/v4/users/{user}", self._user),
                Route("/api/v4/channels/{channel}", self._channel),
                Route("/api/v4/channels/{channel}/posts", self._since),
                Route("/api/v4/posts", self._post, methods=["POST"]),
                Route("/api/v4/posts/{post}", self._one),
                Route("/api/v4/posts/{post}/patch", self._patch, methods=["PUT"]),
                Route("/api/v4/reactions", self._react, methods=["POST"]),
                Route("/api/v4/files", self._upload, methods=["POST"]),
                Route("/api/v4/files/{file}", self._file),
                Route("/api/v4/files/{file}/info", self._about),
                WebSocketRoute("/api/v4/websocket", self._socket),
            ]
        )

    def _new_id(self) -> str:
        return f"p{next(self._numbers):025}"

    def _denied(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"id": "api.context.session_expired.app_error", "message": "Invalid session."}, 401)
        return None

    async def _me(self, request: Request) -> Response:
        return self._denied(request) or JSONResponse({"id": US, "username": USERS[US]})

    async def _user(self, request: Request) -> Response:
        return JSONResponse({"id": request.path_params["user"], "username": USERS[request.path_params["user"]]})

    async def _channels(self, request: Request) -> Response:
        def last(channel: str) -> int:
            return max((p["create_at"] for p in self.posts.values() if p["channel_id"] == channel), default=0)

        return JSONResponse([{"id": id, "type": kind, "last_post_at": last(id)} for id, kind in self.channels.items()])

    async def _channel(self, request: Request) -> Response:
        id = request.path_params["channel"]
        return JSONResponse({"id": id, "type": self.channels[id]})

    async def invite(self, channel: str, kind: str) -> None:
        self.channels[channel] = kind
        for line in self.lines:
            told = {"channel_id": channel}
            await line.send_json({"event": "user_added", "data": {"user_id": US}, "broadcast": told, "seq": 1})

    async def _since(self, request: Request) -> Response:
        channel, since = request.path_params["channel"], int(request.query_params["since"])
        found = {id: p for id, p in self.posts.items() if p["channel_id"] == channel and p["update_at"] >= since}
        return JSONResponse({"order": list(found)[::-1], "posts": found})

    async def _one(self, request: Request) -> Response:
        return JSONResponse(self.posts[request.path_params["post"]])

    async def _post(self, request: Request) -> Response:
        if denied := self._denied(request):
            return denied
        if self.refusal:
            (status, headers), self.refusal = self.refusal, None
            return JSONResponse({"id": "app_error", "message": "refused", "status_code": status}, status, headers)
        said = await request.json()
        return JSONResponse(
            await self.keep(US, said["channel_id"], said["message"], said["root_id"], said["file_ids"]), 201
        )

    async def keep(
        self, by: str, channel: str, message: str, root: str = "", files: Sequence[str] = (), **more: Any
    ) -> Json:
        now = int(time.time() * 1000)
        post: Json = {
            "id": self._new_id(),
            "create_at": now,
            "update_at": now,
            "delete_at": 0,
            "user_id": by,
            "type": "",
            "channel_id": channel,
            "root_id": root,
            "message": message,
            "file_ids": list(files),
            "props": {},
            **more,
        }
        self.posts[post["id"]] = post
        data = {
            "post": json.dumps(post),
            "channel_type": self.channels[channel],
            "sender_name": f"@{USERS.get(by, 'robot')}",
        }
        for line in self.lines:
            await line.send_json({"event": "posted", "data": data, "broadcast": {"channel_id": channel}, "seq": 1})
        return post

    async def _patch(self, request: Request) -> Response:
        post = self.posts[request.path_params["post"]]
        post |= {"message": (await request.json())["message"], "update_at": int(time.time() * 1000)}
        return JSONResponse(post)

    async def _react(self, request: Request) -> Response:
        said = await request.json()
        sign = {"eyes": "👀", "+1": "👍"}.get(said["emoji_name"])
        if sign is None or said["user_id"] != US:
            return JSONResponse({"id": "app_error", "message": "Invalid emoji name.", "status_code": 400}, 400)
        post = self.posts[said["post_id"]]
        post["reactions"] = (*post.get("reactions", ()), sign)
        return JSONResponse(said, 201)

    async def _typing(self, request: Request) -> Response:
        self.typed.append(await request.json())
        return JSONResponse({"status": "OK"})

    async def _upload(self, request: Request) -> Response:
        form = await request.form()
        sent: Any = form["files"]
        id = self.add(File(name=sent.filename, media_type=sent.content_type, data=await sent.read()))
        await form.close()
        return JSONResponse({"file_infos": [{"id": id}], "client_ids": []}, 201)

    def add(self, file: File) -> str:
        id = self._new_id()
        self.files[id] = file
        return id

    async def _file(self, request: Request) -> Response:
        file = self.files[request.path_params["file"]]
        return Response(file.data, media_type=file.media_type)

    async def _about(self, request: Request) -> Response:
        file = self.files.get(request.path_params["file"])
        if file is None:
            return JSONResponse({"id": "app_error", "message": "Unable to find the file.", "status_code": 404}, 404)
        about = {"name": file.name, "mime_type": file.media_type, "size": len(file.data)}
        return JSONResponse({"id": request.path_params["file"], **about})

    async def _socket(self, line: WebSocket) -> None:
        await line.accept()
        asked = await line.receive_json()
        if asked["data"]["token"] != TOKEN:
            await line.send_json(
                {"status": "FAIL", "seq_reply": asked["seq"], "error": {"message": "Invalid session."}}
            )
            await line.close()
            return
        await line.send_json({"event": "hello", "data": {"server_version": "11"}, "broadcast": {}, "seq": 0})
        await line.send_json({"status": "OK", "seq_reply": asked["seq"]})
        self.lines.append(line)
        try:
            while True:
                await line.receive_text()
        except WebSocketDisconnect:
            pass
        finally:
            self.lines.remove(line)


class MattermostHarness(WebHarness):
    lacks: Mapping[str, str] = {"bad format": "the server takes any Markdown"}
    threads: Sequence[PlaceKind] = ("dm", "group", "channel")
    chats: Mapping[PlaceKind, str] = {"dm": "d" * 26, "group": "g" * 26, "channel": "o" * 26}
    people = (Sender(id="a" * 26, name="ann"), Sender(id="b" * 26, name="ben"))
    secret = TOKEN

    def __init__(self) -> None:
        self.server = MattermostServer()
        super().__init__(self.server.app, self.server.lines)

    def connect(self, token: str = TOKEN) -> Mattermost:
        settings = MattermostSettings(url=self._web.url, token=Secret(token))
        return Mattermost(With(self._kit, settings))

    def connect_wrongly(self) -> Mattermost:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        """Also past asking for what was missed."""
        while not self.server.lines or not await self._kit.store.list_records("platform_position"):
            await asyncio.sleep(0.01)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        kept = [self.server.add(one) for one in files]
        props = {"from_bot": "true"} if by.is_bot else {}
        post = await self.server.keep(by.id, place.chat, text, place.thread or "", kept, props=props)
        return str(post["id"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        there = (place.chat, place.thread or "")
        found = [one for one in self.server.posts.values() if (one["channel_id"], one["root_id"]) == there]
        files = self.server.files
        return [
            PostedMessage(
                id=p["id"],
                text=p["message"],
                by=p["user_id"],
                files=tuple(files[one] for one in p["file_ids"]),
                reactions=p.get("reactions", ()),
            )
            for p in found
        ]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.server.refusal = (_STATUS[kind], {"Retry-After": f"{retry_after:g}"} if retry_after else {})
