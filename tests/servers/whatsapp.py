"""A server with the protocol of WhatsApp's Cloud API (Graph and signed webhooks), and the harness of `whatsapp`."""

import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.whatsapp import WhatsappSettings
from sojourn.platforms.whatsapp.adapter import Whatsapp
from sojourn.ports.platform import Button, File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import hang_up
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

NUMBER, OUR_NUMBER = "111222333444555", "15550001111"
TOKEN, APP_SECRET, VERIFY_TOKEN = "EAAtoken-3141592653", "app-2718281828459", "verify-1414213562"
ANN, BEN = Sender(id="491701234567", name="Ann"), Sender(id="491707654321", name="Ben")
HIDDEN = Sender(id="US.13491208655302741918", name="Cleo")
GROUP = "group:Y2FwaV9ncm91cDox"


class GraphRefused(Exception):
    def __init__(self, status: int, code: int, message: str = "(#1) refused", details: str = "") -> None:
        self.status, self.code, self.message, self.details = status, code, message, details


class WhatsappServer:
    """As documented: what a business number needs of it."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[GraphRefused] = []
        self.bodies: list[dict[str, Any]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.read: list[str] = []
        self.uploads: dict[str, File] = {}
        self.files: dict[str, File] = {}
        self.media_url = ""  # where files are said to be
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.get("/v24.0/{id}", self._get),
                web.post(f"/v24.0/{NUMBER}/messages", self._message),
                web.post(f"/v24.0/{NUMBER}/media", self._upload),
                web.get("/cdn/{id}", self._media),
            ]
        )
        return app

    def new_id(self) -> str:
        return f"wamid.HBgM{next(self._numbers):06}=="

    def _check(self, request: web.Request) -> None:
        if self.dead:
            hang_up(request)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            raise self._to_web_error(GraphRefused(401, 190, "Error validating access token"))
        if self.faults:
            raise self._to_web_error(self.faults.pop(0))

    def _to_web_error(self, fault: GraphRefused) -> web.HTTPException:
        error = {"message": fault.message, "type": "OAuthException", "code": fault.code, "fbtrace_id": "A1"}
        if fault.details:
            error["error_data"] = {"messaging_product": "whatsapp", "details": fault.details}
        kinds = {
            400: web.HTTPBadRequest,
            401: web.HTTPUnauthorized,
            404: web.HTTPNotFound,
            429: web.HTTPTooManyRequests,
        }
        kind = kinds.get(fault.status, web.HTTPInternalServerError)
        return kind(text=json.dumps({"error": error}), content_type="application/json")

    async def _get(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        id = request.match_info["id"]
        if id == NUMBER:
            return web.json_response({"verified_name": "Garden", "display_phone_number": "+1 555-000-1111", "id": id})
        if id not in self.files:
            raise self._to_web_error(GraphRefused(400, 100, "Unsupported get request."))
        file = self.files[id]
        digest = hashlib.sha256(file.data).hexdigest()
        url = self.media_url or f"{self.url}/cdn/{id}"
        page = {"url": url, "mime_type": file.media_type, "sha256": digest, "file_size": len(file.data), "id": id}
        return web.json_response(page | {"messaging_product": "whatsapp"})

    async def _media(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.data, content_type=file.media_type)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        form = await request.post()
        part = form["file"]
        assert form["messaging_product"] == "whatsapp"
        assert isinstance(part, web.FileField)
        id = f"900{next(self._numbers)}"
        self.uploads[id] = File(name=part.filename, media_type=str(form["type"]), data=part.file.read())
        return web.json_response({"id": id})

    async def _message(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        asked = await request.json()
        assert asked.pop("messaging_product") == "whatsapp"
        self.bodies.append(asked)
        if asked.get("status") == "read":
            self.read.append(asked["message_id"])
            return web.json_response({"success": True})
        to = asked.get("to") or asked["recipient"]
        chat = f"group:{to}" if asked["recipient_type"] == "group" else to
        kind, id = asked["type"], self.new_id()
        part, posts = asked[kind], self.posts.setdefault(chat, [])
        if kind == "reaction":
            at = next((n for n, one in enumerate(posts) if one.id == part["message_id"]), None)
            if at is None:
                raise self._to_web_error(GraphRefused(400, 131009, "Parameter value is not valid"))
            posts[at] = replace(posts[at], reactions=(part["emoji"],))
        else:
            posts.append(self._to_posted(id, kind, part))
        contacts = [{"input": to, "wa_id": to}]
        return web.json_response({"messaging_product": "whatsapp", "contacts": contacts, "messages": [{"id": id}]})

    def _to_posted(self, id: str, kind: str, part: dict[str, Any]) -> PostedMessage:
        match kind:
            case "text":
                if len(part["body"]) > 4096:
                    raise self._to_web_error(
                        GraphRefused(400, 100, "Param text['body'] must be at most 4096 long: length")
                    )
                return PostedMessage(id=id, text=part["body"], by=OUR_NUMBER)
            case "template":
                [body] = part["components"]
                [parameter] = body["parameters"]
                assert "\n" not in parameter["text"]
                assert len(parameter["text"]) <= 1024
                return PostedMessage(id=id, text=f"[{part['name']}] {parameter['text']}", by=OUR_NUMBER)
            case "interactive":
                action = part["action"]
                if part["type"] == "button":
                    found = [one["reply"] for one in action["buttons"]]
                    assert len(found) <= 3
                    assert all(len(one["title"]) <= 20 for one in found)
                else:
                    found = [one for section in action["sections"] for one in section["rows"]]
                    assert len(found) <= 10
                    assert all(len(one["title"]) <= 24 for one in found)
                assert len(part["body"]["text"]) <= 1024
                buttons = tuple(Button(label=one["title"], value=one["id"]) for one in found)
                return PostedMessage(id=id, text=part["body"]["text"], by=OUR_NUMBER, buttons=buttons)
        file = self.uploads[part["id"]]
        return PostedMessage(id=id, text=part.get("caption", ""), by=OUR_NUMBER, files=(file,))

    async def drop_connections(self) -> None:
        raise NotImplementedError


def build_message(by: Sender, text: str, id: str, *, group: str = "", **more: Any) -> dict[str, Any]:
    """A message as it stands in a notification. Who has no number is named by an id."""
    who = {"from_user_id": by.id} if "." in by.id else {"from": by.id}
    group_id = {"group_id": group.removeprefix("group:")} if group else {}
    body = {"type": "text", "text": {"body": text}} if "type" not in more else {}
    return {"id": id, "timestamp": str(int(time.time())), **who, **group_id, **body, **more}


def build_notification(*messages: dict[str, Any], statuses: Sequence[Any] = (), number: str = NUMBER) -> dict[str, Any]:
    people = {one.id: one for one in (ANN, BEN, HIDDEN)}
    senders = [one.get("from") or one["from_user_id"] for one in messages]
    contacts = [
        {"profile": {"name": people[id].name if id in people else id}, **({} if "." in id else {"wa_id": id})}
        | {"user_id": id if "." in id else f"DE.1000{id}"}
        for id in senders
    ]
    value: dict[str, Any] = {
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": OUR_NUMBER, "phone_number_id": number},
    }
    value |= {"contacts": contacts, "messages": list(messages)} if messages else {"statuses": list(statuses)}
    return {
        "object": "whatsapp_business_account",
        "entry": [{"id": "102290129340398", "changes": [{"value": value, "field": "messages"}]}],
    }


def sign_request(body: bytes, secret: str = APP_SECRET) -> Request:
    mark = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return "/whatsapp", body, {"Content-Type": "application/json", "X-Hub-Signature-256": f"sha256={mark}"}


class WhatsappHarness(ReceiverHarness, WiredHarness[WhatsappServer]):
    lacks: Mapping[str, str] = {
        "own messages": "WhatsApp tells a business only what people write",
        "other bots": "businesses cannot write to each other",
        "rate limit": "WhatsApp does not say how long to wait",
        "a lost line": NO_LINE,
    }
    secret = TOKEN
    chats: Mapping[PlaceKind, str] = {"dm": f"+{ANN.id}", "group": GROUP}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: WhatsappServer) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender = RequestSender(self.port)

    def connect(self, token: str = TOKEN, template: str = "") -> Whatsapp:
        settings = WhatsappSettings(
            phone_number_id=NUMBER,
            access_token=Secret(token),
            app_secret=Secret(APP_SECRET),
            verify_token=Secret(VERIFY_TOKEN),
            template=template,
            base_url=self.server.url,
            port=self.port,
        )
        return Whatsapp(With(self.kit, settings))

    def connect_wrongly(self) -> Whatsapp:
        return self.connect("wrong")

    async def open_window(self, chat: str, seconds: float = 3600) -> None:
        """Somebody has written there not long ago."""
        tickets = ReplyTickets(self.kit.store, "whatsapp", NUMBER)
        await tickets.save(self.connect().home(chat), "wamid.before", expires_at=time.time() + seconds)

    def notify(self, document: dict[str, Any]) -> None:
        body = json.dumps(document).encode()
        self.sender.send(lambda: sign_request(body))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        id = self.server.new_id()
        more: dict[str, Any] = {}
        if files:
            self.server.files["700"] = files[0]
            more = {"type": "image", "image": {"id": "700", "mime_type": files[0].media_type, "caption": text}}
        group = place.chat if place.kind == "group" else ""
        self.notify(build_notification(build_message(by, text, id, group=group, **more)))
        self.server.posts.setdefault(place.chat, []).append(PostedMessage(id=id, text=text, by=by.id))
        return id

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        reply = {"type": "button_reply", "button_reply": {"id": button.value, "title": button.label}}
        context = {"from": OUR_NUMBER, "id": posted.id}
        message = build_message(by, "", self.server.new_id(), type="interactive", interactive=reply, context=context)
        self.notify(build_notification(message))

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.server.posts.get(place.chat, [])

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        return {
            "bad_format": GraphRefused(400, 131009),
            "forbidden": GraphRefused(400, 131047, details="Re-engagement message"),
            "not_found": GraphRefused(404, 33),
        }


@asynccontextmanager
async def whatsapp_rig() -> AsyncIterator[WhatsappHarness]:
    async with wired(WhatsappServer()) as server:
        harness = WhatsappHarness(server)
        for chat in (ANN.id, BEN.id, GROUP):
            await harness.open_window(chat)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
