"""A server with DingTalk's protocol (Stream mode, Open API, session webhooks, cards), and the harness of `dingtalk`."""

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from itertools import count
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.dingtalk import DingTalkSettings
from sojourn.platforms.dingtalk.adapter import DingTalk, make
from sojourn.ports.platform import Button, File
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

SECRET, CLIENT, TEMPLATE = "s3cret-31415926", "dingclient1", "t-1.schema"
ANN, BEN = Sender(id="ann01", name="Ann"), Sender(id="ben02", name="Ben")
GROUP = "cidGarden+1/x=="
MESSAGE_TOPIC, CARD_TOPIC = "/v1.0/im/bot/messages/get", "/v1.0/card/instances/callback"


class Refused(Exception):
    def __init__(self, status: int, code: str, **more: Any) -> None:
        self.status, self.body = status, {"code": code, "message": "refused", "requestid": "r", **more}


class DingTalkServer:
    """As documented: what a robot needs of it. Frames that are not answered are pushed again to a new connection."""

    def __init__(self) -> None:
        self.url, self.dead = "", False
        self.faults: list[Any] = []
        self.tokens: set[str] = set()
        self.tickets: set[str] = set()
        self.lines: list[tuple[web.Request, web.WebSocketResponse]] = []
        self.waiting: dict[str, dict[str, Any]] = {}  # frames without an answer
        self.answers: list[dict[str, Any]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.files: dict[str, File] = {}
        self.session_result: dict[str, Any] = {"errcode": 0, "errmsg": "ok"}
        self.opened: list[dict[str, Any]] = []
        self.changed = Signal()
        self._numbers = count(1)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.add_routes(
            [
                web.post("/v1.0/gateway/connections/open", self._open),
                web.post("/v1.0/oauth2/accessToken", self._token),
                web.post("/v1.0/robot/oToMessages/batchSend", self._to_person),
                web.post("/v1.0/robot/groupMessages/send", self._to_group),
                web.post("/v1.0/robot/messageFiles/download", self._download),
                web.post("/v1.0/card/instances/createAndDeliver", self._card),
                web.put("/v1.0/card/instances", self._update_card),
                web.post("/media/upload", self._upload),
                web.post("/robot/sendBySession", self._session),
                web.get("/files/{id}", self._file),
                web.get("/stream", self._stream),
            ]
        )
        return app

    async def _open(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.opened.append(asked)
        if (asked["clientId"], asked["clientSecret"]) != (CLIENT, SECRET):
            return web.json_response({"code": "authFailed", "message": "no such app"}, status=401)
        ticket = f"ticket/{next(self._numbers)}="
        self.tickets.add(ticket)
        return web.json_response({"endpoint": f"ws{self.url.removeprefix('http')}/stream", "ticket": ticket})

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("ticket") not in self.tickets:
            return web.Response(status=401)
        self.tickets.remove(request.query["ticket"])
        line = web.WebSocketResponse()
        await line.prepare(request)
        self.lines.append((request, line))
        for frame in list(self.waiting.values()):
            await line.send_json(frame)
        self.changed.ring()
        try:
            async for message in line:
                answer = json.loads(message.data)
                self.answers.append(answer)
                self.waiting.pop(answer["headers"]["messageId"], None)
                self.changed.ring()
        finally:
            self.lines.remove((request, line))
            self.changed.ring()
        return line

    async def push(self, kind: str, topic: str, data: Any, *, keep: bool = True, id: str = "") -> str:
        id = id or f"f{next(self._numbers)}"
        headers = {"topic": topic, "messageId": id, "contentType": "application/json", "time": "1", "appId": "a"}
        frame = {"specVersion": "1.0", "type": kind, "headers": headers, "data": json.dumps(data)}
        if keep:
            self.waiting[id] = frame
        for _, line in self.lines[-1:]:
            with suppress(ConnectionError):
                await line.send_json(frame)
        return id

    async def push_raw(self, text: str) -> None:
        for _, line in self.lines[-1:]:
            await line.send_str(text)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if (asked["appKey"], asked["appSecret"]) != (CLIENT, SECRET):
            return web.json_response({"code": "invalidClientIdOrSecret", "message": "wrong"}, status=400)
        token = f"token{next(self._numbers)}"
        self.tokens.add(token)
        return web.json_response({"accessToken": token, "expireIn": 7200})

    async def _checked(self, request: web.Request) -> dict[str, Any]:
        if self.dead:
            hang_up(request)
        if request.headers.get("x-acs-dingtalk-access-token") not in self.tokens:
            raise self._to_web_error(Refused(400, "InvalidAuthentication"))
        if self.faults:
            raise self._to_web_error(self.faults.pop(0))
        return dict(await request.json())

    def _to_web_error(self, fault: Refused) -> web.HTTPException:
        text, kind = json.dumps(fault.body), "application/json"
        error = {400: web.HTTPBadRequest, 403: web.HTTPForbidden, 404: web.HTTPNotFound, 429: web.HTTPTooManyRequests}
        return error.get(fault.status, web.HTTPInternalServerError)(text=text, content_type=kind)

    def _keep(self, chat: str, kind: str, param: str) -> web.StreamResponse:
        if len(param.encode()) > 15_000:
            raise self._to_web_error(Refused(400, "invalidParameter.msgParam.tooLong"))
        given, text = json.loads(param), ""
        files: tuple[File, ...] = ()
        if kind == "sampleFile":
            files = (self.files[given["mediaId"]],)
        elif kind == "sampleMarkdown" and given["text"].startswith("![]("):
            media, _, text = given["text"].removeprefix("![](").partition(")")
            files = (self.files[media],)
        else:
            text = given["content"] if kind == "sampleText" else given["text"]
        return web.json_response({"processQueryKey": self.post(chat, text.strip(), files)})

    def post(self, chat: str, text: str, files: tuple[File, ...] = (), buttons: tuple[Button, ...] = (), id: str = ""):
        id = id or f"k{next(self._numbers)}"
        made = PostedMessage(id=id, text=text, by="robot", files=files, buttons=buttons)
        self.posts.setdefault(chat, []).append(made)
        return id

    async def _to_person(self, request: web.Request) -> web.StreamResponse:
        asked = await self._checked(request)
        [person] = asked["userIds"]
        if person == "gone":
            return web.json_response({"invalidStaffIdList": [person], "processQueryKey": "k"})
        if person == "busy":
            return web.json_response({"flowControlledStaffIdList": [person], "processQueryKey": "k"})
        return self._keep(person, asked["msgKey"], asked["msgParam"])

    async def _to_group(self, request: web.Request) -> web.StreamResponse:
        asked = await self._checked(request)
        assert asked["robotCode"] == CLIENT
        return self._keep(asked["openConversationId"], asked["msgKey"], asked["msgParam"])

    async def _card(self, request: web.Request) -> web.StreamResponse:
        asked = await self._checked(request)
        assert asked["cardTemplateId"] == TEMPLATE
        assert asked["callbackType"] == "STREAM"
        space = asked["openSpaceId"].removeprefix("dtv1.card//")
        assert ("imGroupOpenDeliverModel" in asked) == space.startswith("IM_GROUP.")
        given = asked["cardData"]["cardParamMap"]
        assert all(isinstance(one, str) for one in given.values())
        buttons = tuple(Button(label=one["text"], value=one["value"]) for one in json.loads(given["buttons"]))
        self.post(space.partition(".")[2], given["content"], (), buttons, f"card/{asked['outTrackId']}")
        return web.json_response({"result": {"outTrackId": asked["outTrackId"]}, "success": True})

    async def _update_card(self, request: web.Request) -> web.StreamResponse:
        asked = await self._checked(request)
        given = asked["cardData"]["cardParamMap"]
        for posts in self.posts.values():
            for at, one in enumerate(posts):
                if one.id == f"card/{asked['outTrackId']}":
                    posts[at] = replace(one, text=given["content"], buttons=tuple(json.loads(given["buttons"])))
                    return web.json_response({"success": True, "result": True})
        raise self._to_web_error(Refused(404, "param.cardNotExist"))

    async def _download(self, request: web.Request) -> web.StreamResponse:
        asked = await self._checked(request)
        if asked["downloadCode"].startswith("http"):
            return web.json_response({"downloadUrl": asked["downloadCode"]})
        return web.json_response({"downloadUrl": f"{self.url}/files/{asked['downloadCode']}"})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.data, content_type=file.media_type)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if request.query["access_token"] not in self.tokens:
            return web.json_response({"errcode": 40014, "errmsg": "invalid access_token"})
        sent: Any = (await request.post())["media"]
        id = f"@media{next(self._numbers)}"
        self.files[id] = File(name=sent.filename, media_type=sent.content_type, data=sent.file.read())
        return web.json_response({"errcode": 0, "errmsg": "ok", "media_id": id, "type": request.query["type"]})

    async def _session(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if self.session_result["errcode"] == 0:
            body = asked["text"]["content"] if asked["msgtype"] == "text" else asked["markdown"]["text"]
            self.post(request.query["chat"], body)
        return web.json_response(self.session_result)

    async def drop_connections(self) -> None:
        await self.until_linked()
        for request, _ in self.lines:
            hang_up(request)

    async def until_linked(self) -> None:
        await self.changed.until(lambda: bool(self.lines))

    # what people do
    def message(self, chat: str, by: Sender, text: str, **more: Any) -> dict[str, Any]:
        is_group = chat.startswith("cid")
        return {
            "msgId": f"msg{next(self._numbers)}==",
            "conversationId": chat if is_group else "cidPrivate==",
            "conversationType": "2" if is_group else "1",
            "msgtype": "text",
            "text": {"content": f" {text}" if is_group else text},
            "senderId": f"$:LWCP_v1:{by.id}",
            "senderStaffId": by.id,
            "senderNick": by.name,
            "robotCode": CLIENT,
            "sessionWebhook": f"{self.url}/robot/sendBySession?chat={chat.replace('+', '%2B')}",
            "sessionWebhookExpiredTime": int(time.time() * 1000) + 5_400_000,
            "createAt": int(time.time() * 1000),
        } | more

    async def say(self, message: Mapping[str, Any]) -> str:
        await self.push("CALLBACK", MESSAGE_TOPIC, message)
        return str(message["msgId"])


class DingTalkHarness(WiredHarness[DingTalkServer]):
    lacks: Mapping[str, str] = {
        "own messages": "DingTalk tells a robot only what people write",
        "other bots": "DingTalk tells a robot only what people write",
        "rate limit": "DingTalk does not say how long to wait",
    }
    secret = SECRET
    chats: Mapping[PlaceKind, str] = {"dm": ANN.id, "group": GROUP}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: DingTalkServer, template: str) -> None:
        self.server, self.kit, self._template = server, AdapterKit(None), template

    def connect(self, secret: str = SECRET) -> DingTalk:
        url = self.server.url
        settings = DingTalkSettings(
            client_id=CLIENT, client_secret=Secret(secret), card_template=self._template, base_url=url, oapi_url=url
        )
        return make(With(self.kit, settings))

    def connect_wrongly(self) -> DingTalk:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.until_linked()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        message = self.server.message(place.chat, by, text)
        if files:
            self.server.files["d1"] = files[0]
            rich = [{"text": text}, {"downloadCode": "d1", "type": "picture"}]
            message |= {"msgtype": "richText", "content": {"richText": rich}}
        return await self.server.say(message)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        """The value of a button is what comes back; the port's own value is inside."""
        return [
            replace(one, buttons=tuple(Button(label=b.label, value=json.loads(b.value)["value"]) for b in one.buttons))
            for one in self.server.posts.get(place.chat, [])
        ]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        [card] = [one for one in self.server.posts[place.chat] if one.id == posted.id]
        [raw] = [one.value for one in card.buttons if one.label == button.label]
        private = {"actionIds": ["b"], "params": {"value": raw}}
        data = {
            "type": "actionCallback",
            "outTrackId": posted.id.removeprefix("card/"),
            "corpId": "corp",
            "userId": by.id,
            "content": json.dumps({"cardPrivateData": private}),
            "extension": "{}",
        }
        await self.server.push("CALLBACK", CARD_TOPIC, data)

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        scopes = {"requiredScopes": ["qyapi_robot_sendmsg"]}
        denied = "Forbidden.AccessDenied.AccessTokenPermissionDenied"
        return {
            "bad_format": Refused(400, "invalidParameter.msgParam.invalid"),
            "forbidden": Refused(403, denied, accessdenieddetail=scopes),
            "not_found": Refused(404, "conversation.notFound"),
        }


@asynccontextmanager
async def dingtalk_rig(template: str = ""):
    async with wired(DingTalkServer()) as server:
        harness = DingTalkHarness(server, template)
        yield harness
        await harness.kit.close()
