"""A server with the Bot Framework's protocol as Teams speaks it, and the harness of `teams`."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.teams import TeamsSettings
from sojourn.platforms.teams.adapter import Teams
from sojourn.ports.platform import Button, File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import hang_up
from tests.servers.microsoft import CLIENT, CLIENT_SECRET, KEY, OTHER_KEY, TENANT, MicrosoftIdentity, sign_token
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

BOT, ISSUER = f"28:{CLIENT}", "https://api.botframework.com"
ANN, BEN = Sender(id="aad-ann", name="Ann"), Sender(id="aad-ben", name="Ben")
DM, GROUP, CHANNEL = "a:1garden", "19:group1@thread.v2", "19:garden1@thread.tacv2"


class TeamsServer(MicrosoftIdentity):
    """As documented: what a bot needs of it."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Any] = []
        self.bodies: list[dict[str, Any]] = []
        self.posts: dict[str, list[PostedMessage]] = {}
        self.typing: list[str] = []
        self.files: dict[str, File] = {}
        self.fetched: list[tuple[str, str]] = []

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                *self.identity_routes(),
                web.post("/teams/v3/conversations/{conversation}/activities", self._post),
                web.put("/teams/v3/conversations/{conversation}/activities/{id}", self._edit),
                web.get("/files/{id}", self._file),
            ]
        )
        return app

    def new_id(self) -> str:
        return str(1_700_000_000_000 + next(self._numbers))

    async def _check(self, request: web.Request) -> dict[str, Any]:
        if self.dead:
            hang_up(request)
        if not self.is_known(request):
            raise web.HTTPUnauthorized
        body = dict(await request.json())
        self.bodies.append(body)
        if self.faults:
            status, wait = self.faults.pop(0)
            headers = {"Retry-After": f"{wait:g}"} if wait else {}
            kinds: dict[int, Any] = {
                400: web.HTTPBadRequest,
                403: web.HTTPForbidden,
                404: web.HTTPNotFound,
                412: web.HTTPPreconditionFailed,
                429: web.HTTPTooManyRequests,
                502: web.HTTPBadGateway,
            }
            text = json.dumps({"error": {"code": "BotNotInConversationRoster", "message": "no"}})
            raise kinds[status](text=text, content_type="application/json", headers=headers)
        return body

    async def _post(self, request: web.Request) -> web.StreamResponse:
        body, conversation = await self._check(request), request.match_info["conversation"]
        if body["type"] == "typing":
            self.typing.append(conversation)
            return web.json_response({}, status=202)
        id = self.new_id()
        self.posts.setdefault(conversation, []).append(self._to_posted(id, body))
        return web.json_response({"id": id}, status=201)

    def _to_posted(self, id: str, body: dict[str, Any]) -> PostedMessage:
        cards = [one["content"] for one in body.get("attachments", [])]
        if not cards:
            return PostedMessage(id=id, text=body["text"], by=BOT)
        [card] = cards
        [block] = card["body"]
        text = block["text"] if block["type"] == "TextBlock" else block["inlines"][0]["text"]
        assert all(one["type"] == "Action.Submit" for one in card["actions"])
        buttons = tuple(Button(label=one["title"], value=one["data"]["sojourn"]["value"]) for one in card["actions"])
        return PostedMessage(id=id, text=text, by=BOT, buttons=buttons)

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        body, posts = await self._check(request), self.posts[request.match_info["conversation"]]
        at = next(n for n, one in enumerate(posts) if one.id == request.match_info["id"])
        posts[at] = self._to_posted(posts[at].id, body)
        return web.json_response({"id": posts[at].id})

    async def _file(self, request: web.Request) -> web.StreamResponse:
        self.fetched.append((request.match_info["id"], request.headers.get("Authorization", "")))
        file = self.files[request.match_info["id"]]
        return web.Response(body=file.data, content_type=file.media_type)

    def build_activity(self, conversation: str, by: Sender, text: str, **more: Any) -> dict[str, Any]:
        """A message as Teams sends it; in groups and channels it mentions the bot."""
        is_channel = "@thread.tacv2" in conversation
        id, kind = self.new_id(), "channel" if is_channel else "groupChat" if "@thread" in conversation else "personal"
        if is_channel and ";messageid=" not in conversation:
            conversation = f"{conversation};messageid={id}"
        words, entities = text, list[Any]()
        if kind != "personal":
            words = f"<at>Sojourn</at>&nbsp;{text}"
            entities = [{"type": "mention", "mentioned": {"id": BOT, "name": "Sojourn"}, "text": "<at>Sojourn</at>"}]
        return {
            "type": "message",
            "id": id,
            "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "serviceUrl": f"{self.url}/teams/",
            "channelId": "msteams",
            "from": {"id": f"{'28' if by.is_bot else '29'}:{by.id}", "name": by.name, "aadObjectId": by.id},
            "recipient": {"id": BOT, "name": "Sojourn"},
            "conversation": {
                "id": conversation,
                "conversationType": kind,
                "tenantId": TENANT,
                "isGroup": kind != "personal",
            },
            "text": words,
            "textFormat": "plain",
            "entities": entities,
            "channelData": {"tenant": {"id": TENANT}},
            **more,
        }

    def build_token(self, key: Any = KEY, **more: Any) -> str:
        return sign_token({"iss": ISSUER, "aud": CLIENT, "serviceurl": f"{self.url}/teams/"} | more, key)

    async def drop_connections(self) -> None:
        raise NotImplementedError


def sign_request(harness: "TeamsHarness", body: bytes, secret: str = CLIENT_SECRET) -> Request:
    """A request with a token; with another secret, the token is somebody else's."""
    token = harness.server.build_token(KEY if secret == CLIENT_SECRET else OTHER_KEY)
    return "/teams", body, {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}


class TeamsHarness(ReceiverHarness, WiredHarness[TeamsServer]):
    lacks: Mapping[str, str] = {"own messages": "Teams tells a bot only what others write", "a lost line": NO_LINE}
    secret = CLIENT_SECRET
    # In a channel every message is in a thread, so a channel itself is never written in; tests of their own show it.
    chats: Mapping[PlaceKind, str] = {"dm": DM, "group": GROUP}
    threads: Sequence[PlaceKind] = ()
    people = (ANN, BEN)

    def __init__(self, server: TeamsServer) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender = RequestSender(self.port)

    def connect(self, secret: str = CLIENT_SECRET) -> Teams:
        url = self.server.url
        settings = TeamsSettings(
            app_id=CLIENT,
            app_secret=Secret(secret),
            tenant=TENANT,
            port=self.port,
            service_url=f"{url}/teams/",
            login_url=url,
            openid_url=f"{url}/v1/.well-known/openidconfiguration",
            issuer=ISSUER,
        )
        return Teams(With(self.kit, settings))

    def connect_wrongly(self) -> Teams:
        return self.connect("wrong")

    def notify(self, activity: Any) -> None:
        body = json.dumps(activity).encode()
        self.sender.send(lambda: sign_request(self, body))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        conversation = f"{place.chat};messageid={place.thread}" if place.thread else place.chat
        more: dict[str, Any] = {}
        if files:
            self.server.files["in"] = files[0]
            content = {"downloadUrl": f"{self.server.url}/files/in", "fileType": "png"}
            kind = "application/vnd.microsoft.teams.file.download.info"
            more = {"attachments": [{"contentType": kind, "content": content, "name": files[0].name}]}
        activity = self.server.build_activity(conversation, by, text, **more)
        self.notify(activity)
        return f"{activity['conversation']['id']}#{activity['id']}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        conversation = f"{place.chat};messageid={place.thread}" if place.thread else place.chat
        return [replace(one) for one in self.server.posts.get(conversation, [])]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        value = {"sojourn": {"value": button.value, "label": button.label}}
        activity = self.server.build_activity(place.chat, by, "", value=value, replyToId=posted.id)
        self.notify(activity | {"entities": [], "text": ""})

    def refusals(self, retry_after: float | None) -> Mapping[str, Any]:
        statuses = {"bad_format": 400, "forbidden": 403, "not_found": 404, "rate_limited": 429}
        return {kind: (status, retry_after) for kind, status in statuses.items()}


@asynccontextmanager
async def teams_rig() -> AsyncIterator[TeamsHarness]:
    async with wired(TeamsServer()) as server:
        harness = TeamsHarness(server)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
