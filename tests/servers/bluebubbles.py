"""A server with the protocol of BlueBubbles Server (REST and webhooks), and the harness of `bluebubbles`."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any

import httpx2
from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.bluebubbles import BluebubblesSettings
from sojourn.platforms.bluebubbles.adapter import Bluebubbles, make
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import ReceiverHarness, RequestSender

PASSWORD = "mac-password-3141592653"
ANN, BEN = Sender(id="+491701234567"), Sender(id="ben@example.org")
GROUP = "chat314159265358979"
SIGNS = {"love": "❤️", "like": "👍", "dislike": "👎", "laugh": "😂", "emphasize": "‼️", "question": "❓"}


class MacRefused(Exception):
    def __init__(self, status: int, type: str = "Validation Error") -> None:
        self.status, self.type = status, type


class BluebubblesServer:
    """As its source has it: what a client needs of it. Webhooks are fired once, and not signed."""

    def __init__(self) -> None:
        self.url, self.dead, self.is_cut = "", False, False
        self.faults: list[MacRefused] = []
        self.rows: list[dict[str, Any]] = []
        self.webhooks: dict[int, dict[str, Any]] = {}
        self.posts: dict[str, list[PostedMessage]] = {}
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.files: dict[str, File] = {}
        self.queries = 0
        self.changed = Signal()
        self.has_private_api = True
        self._numbers = count(1)
        self._fired: set[asyncio.Task[None]] = set()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._guard])
        app.add_routes(
            [
                web.get("/api/v1/server/info", self._info),
                web.get("/api/v1/webhook", self._list_webhooks),
                web.post("/api/v1/webhook", self._add_webhook),
                web.delete("/api/v1/webhook/{id}", self._remove_webhook),
                web.post("/api/v1/message/query", self._query),
                web.post("/api/v1/message/text", self._text),
                web.post("/api/v1/message/attachment", self._attachment),
                web.post("/api/v1/message/react", self._react),
                web.post("/api/v1/chat/new", self._new_chat),
                web.post("/api/v1/chat/{guid}/{what:typing|read}", self._note),
                web.get("/api/v1/attachment/{guid}/download", self._download),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if self.dead or self.is_cut:
            self.is_cut = False
            hang_up(request)
        if request.query.get("password") != PASSWORD:
            return self._refuse(MacRefused(401, "Authentication Error"))
        is_sending = request.path.endswith(("/text", "/attachment", "/react", "/chat/new"))
        if self.faults and is_sending:
            return self._refuse(self.faults.pop(0))
        response: web.StreamResponse = await handler(request)
        return response

    def _refuse(self, fault: MacRefused) -> web.Response:
        error = {"type": fault.type, "message": "refused"}
        return web.json_response({"status": fault.status, "message": "no", "error": error}, status=fault.status)

    def _answer(self, data: Any) -> web.Response:
        return web.json_response({"status": 200, "message": "Success", "data": data})

    async def _info(self, request: web.Request) -> web.StreamResponse:
        is_on = self.has_private_api
        page = {"private_api": is_on, "helper_connected": is_on, "detected_imessage": "sojourn@example.org"}
        return self._answer(page | {"os_version": "14.5", "server_version": "1.9.9"})

    async def _list_webhooks(self, request: web.Request) -> web.StreamResponse:
        return self._answer(list(self.webhooks.values()))

    async def _add_webhook(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if not set(asked["events"]) <= {"new-message", "updated-message", "typing-indicator"}:
            return self._refuse(MacRefused(400))
        id = next(self._numbers)
        self.webhooks[id] = {"id": id, "url": asked["url"], "events": asked["events"]}
        return self._answer(self.webhooks[id])

    async def _remove_webhook(self, request: web.Request) -> web.StreamResponse:
        del self.webhooks[int(request.match_info["id"])]
        return self._answer(None)

    async def _query(self, request: web.Request) -> web.StreamResponse:
        asked, rows = await request.json(), self.rows
        self.queries += "where" in asked
        self.changed.ring()
        for one in asked.get("where", []):
            assert one["statement"] == "message.ROWID > :n"
            rows = [row for row in rows if row["originalROWID"] > one["args"]["n"]]
        rows = sorted(rows, key=lambda row: int(row["originalROWID"]), reverse=asked["sort"] == "DESC")
        return self._answer(rows[: asked["limit"]])

    def _post(self, guid: str, text: str, files: tuple[File, ...] = ()) -> dict[str, Any]:
        """A message of ours stands in the database as well."""
        row = self.add_row(guid, "", text, isFromMe=True)
        chat = guid.rpartition(";")[2]
        self.posts.setdefault(chat, []).append(PostedMessage(id=row["guid"], text=text, by="me", files=files))
        return row

    async def _text(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        assert asked["tempGuid"]
        self.bodies.append(("text", asked))
        if ";" not in asked["chatGuid"]:
            return self._refuse(MacRefused(400))
        return self._answer(self._post(asked["chatGuid"], asked["message"]))

    async def _new_chat(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.bodies.append(("new", asked))
        guid = f"iMessage;-;{asked['addresses'][0]}"
        return self._answer({"guid": guid, "messages": [self._post(guid, asked["message"])]})

    async def _attachment(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        part = form["attachment"]
        assert isinstance(part, web.FileField)
        assert form["tempGuid"]
        file = File(name=str(form["name"]), media_type=part.content_type, data=part.file.read())
        return self._answer(self._post(str(form["chatGuid"]), "", (file,)))

    async def _react(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == asked["selectedMessageGuid"]:
                    posts[at] = replace(one, reactions=(SIGNS[asked["reaction"]],))
        return self._answer({})

    async def _note(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append((request.match_info["what"], {"guid": request.match_info["guid"]}))
        return self._answer(None)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        file = self.files[request.match_info["guid"]]
        return web.Response(body=file.data, content_type=file.media_type)

    def add_row(self, guid: str, by: str, text: str, /, **more: Any) -> dict[str, Any]:
        number = next(self._numbers)
        row = {
            "originalROWID": number,
            "guid": f"{number:08X}-0000-4000-8000-000000000000",
            "text": text,
            "handle": {"address": by} if by else None,
            "isFromMe": False,
            "dateCreated": int(time.time() * 1000),
            "attachments": [],
            "chats": [{"guid": guid, "style": 43 if ";+;" in guid else 45, "displayName": ""}],
            "associatedMessageGuid": None,
            "associatedMessageType": None,
            "itemType": 0,
            "groupActionType": 0,
            **more,
        }
        self.rows.append(row)
        return row

    def fire(self, row: Mapping[str, Any]) -> None:
        """Tells everybody who wants to know, once, whatever becomes of it."""
        for one in self.webhooks.values():
            task = asyncio.create_task(self._fire(one["url"], {"type": "new-message", "data": dict(row)}))
            self._fired.add(task)

    async def _fire(self, url: str, body: Any) -> None:
        with suppress(httpx2.TransportError):
            async with httpx2.AsyncClient(verify=False) as http:
                await http.post(url, json=body)

    async def drop_connections(self) -> None:
        self.is_cut = True
        self.fire({})

    async def close(self) -> None:
        await asyncio.gather(*self._fired, return_exceptions=True)


class BluebubblesHarness(ReceiverHarness, WiredHarness[BluebubblesServer]):
    lacks: Mapping[str, str] = {
        "other bots": "an address does not say who has it",
        "rate limit": "BlueBubbles has no limit of its own",
    }
    secret = PASSWORD
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id, "group": GROUP}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: BluebubblesServer, private_api: bool, polls: bool) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender, self._private_api, self._polls = RequestSender(self.port), private_api, polls

    def connect(self, password: str = PASSWORD) -> Bluebubbles:
        settings = BluebubblesSettings(
            server=self.server.url,
            password=Secret(password),
            webhook_url="" if self._polls else f"http://127.0.0.1:{self.port}/bluebubbles",
            private_api=self._private_api,
            poll_seconds=1,
            port=self.port,
        )
        return make(With(self.kit, settings))

    def connect_wrongly(self) -> Bluebubbles:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        seen = self.server.queries
        await self.server.changed.until(lambda: self.server.queries > seen)

    async def drop_connections(self) -> None:
        await self.server.drop_connections()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        guid = f"iMessage;+;{place.chat}" if place.kind == "group" else f"iMessage;-;{place.chat}"
        more: dict[str, Any] = {}
        if files:
            self.server.files["AT1"] = files[0]
            more["attachments"] = [
                {"guid": "AT1", "mimeType": files[0].media_type, "transferName": "dot.png", "totalBytes": 72}
            ]
        row = self.server.add_row(guid, by.id, f"\ufffc{text}" if files else text, **more)
        self.server.posts.setdefault(place.chat, []).append(PostedMessage(id=row["guid"], text=text, by=by.id))
        self.server.fire(row)
        return str(row["guid"])

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get(place.chat, [])

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {"bad_format": MacRefused(400), "forbidden": MacRefused(403), "not_found": MacRefused(404)}


@asynccontextmanager
async def bluebubbles_rig(private_api: bool = False, polls: bool = False) -> AsyncIterator[BluebubblesHarness]:
    async with wired(BluebubblesServer()) as server:
        harness = BluebubblesHarness(server, private_api, polls)
        yield harness
        await server.close()
        await harness.sender.close()
        await harness.kit.close()
