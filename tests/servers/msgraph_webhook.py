"""A server with Microsoft Graph's subscriptions and notifications, and the harness of `msgraph_webhook`."""

import base64
import functools
import hashlib
import hmac
import json
import os
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, padding
from cryptography.hazmat.primitives.asymmetric import padding as rsa_padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.msgraph_webhook import MsgraphSettings
from sojourn.platforms.msgraph_webhook.adapter import GRAPH_APP_ID, MsgraphWebhook
from sojourn.platforms.msgraph_webhook.rich_content import _build_pem
from sojourn.platforms.webhook.adapter import is_signature_valid
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.microsoft import CLIENT, CLIENT_SECRET, TENANT, MicrosoftIdentity, sign_token
from tests.servers.platform_server import WiredHarness, wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

STATE, ANSWER_SECRET = "state-2236067977499", "answers-2645751311"
CHAT, INBOX = "chats/19:garden@thread.v2/messages", "users/ann@example.org/mailFolders('inbox')/messages"
_STATUS = {"forbidden": 403, "not_found": 404, "rate_limited": 429, "bad_format": 400}


@functools.cache
def key_file() -> Path:
    """A key that is made once for all tests."""
    path = Path(tempfile.mkdtemp()) / "key.pem"
    path.write_bytes(_build_pem())
    return path


class GraphServer(MicrosoftIdentity):
    """As documented: subscriptions whose address is checked, and notifications to it."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Any] = []
        self.subscription_faults: list[int] = []
        self.subscriptions: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.checks: list[tuple[int, str, str]] = []
        self.got: list[dict[str, Any]] = []
        self.changed = Signal()

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                *self.identity_routes(),
                web.post("/v1.0/subscriptions", self._create),
                web.get("/v1.0/subscriptions", self._list),
                web.patch("/v1.0/subscriptions/{id}", self._renew),
                web.delete("/v1.0/subscriptions/{id}", self._delete),
                web.post("/answers", self._take),
            ]
        )
        return app

    def _check(self, request: web.Request) -> None:
        self.calls.append((request.method, request.match_info.get("id", "")))
        self.changed.ring()
        if not self.is_known(request):
            raise web.HTTPUnauthorized
        if self.subscription_faults and (status := self.subscription_faults.pop(0)):
            raise _fault(status)

    async def _create(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        asked = await request.json()
        assert len(asked["clientState"]) <= 128
        for one in self.subscriptions.values():
            if (one["resource"], one["notificationUrl"]) == (asked["resource"], asked["notificationUrl"]):
                raise _fault(409)
        async with httpx2.AsyncClient(verify=False) as http:
            for field in ("notificationUrl", "lifecycleNotificationUrl"):
                token = f"Validation: <b>{uuid.uuid4()}</b> + ü"
                reply = await http.post(asked[field], params={"validationToken": token})
                self.checks.append((reply.status_code, reply.headers.get("content-type", ""), reply.text))
                if reply.text != token or not reply.headers["content-type"].startswith("text/plain"):
                    raise _fault(400)
        id = str(uuid.uuid4())
        self.subscriptions[id] = asked
        self.changed.ring()
        return web.json_response({**asked, "id": id, "clientState": None}, status=201)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        found = [{**one, "id": id, "clientState": None} for id, one in self.subscriptions.items()]
        return web.json_response({"value": found})

    async def _renew(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        if request.match_info["id"] not in self.subscriptions:
            raise _fault(404)
        self.subscriptions[request.match_info["id"]] |= await request.json()
        self.changed.ring()
        return web.json_response({"id": request.match_info["id"]})

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        self.subscriptions.pop(request.match_info["id"], None)
        return web.Response(status=204)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        if self.dead:
            hang_up(request)
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert is_signature_valid(Secret(ANSWER_SECRET), headers, body, time.time())
        if self.faults:
            status, wait = self.faults.pop(0)
            return web.json_response(
                {"error": "no"}, status=status, headers={"Retry-After": f"{wait:g}"} if wait else {}
            )
        self.got.append(json.loads(body))
        return web.json_response({})

    def find(self, resource: str) -> tuple[str, dict[str, Any]]:
        [(id, found)] = [(id, one) for id, one in self.subscriptions.items() if one["resource"] == resource]
        return id, found

    def build_item(self, resource: str = CHAT, **more: Any) -> dict[str, Any]:
        """A notification of a subscription that there is."""
        id, found = self.find(resource)
        item = {
            "id": uuid.uuid4().hex,
            "subscriptionId": id,
            "subscriptionExpirationDateTime": found["expirationDateTime"],
            "clientState": found["clientState"],
            "changeType": "created",
            "resource": f"{resource}('1')",
            "resourceData": {"@odata.type": "#x", "@odata.id": f"{resource}('1')", "@odata.etag": 'W/"1"', "id": "1"},
            "tenantId": TENANT,
        }
        return {name: value for name, value in (item | more).items() if value is not None}

    def seal(self, content: Any, resource: str = CHAT) -> dict[str, Any]:
        """What Graph encrypts for the certificate of a subscription."""
        found = self.find(resource)[1]
        certificate = x509.load_der_x509_certificate(base64.b64decode(found["encryptionCertificate"]))
        key, padder = os.urandom(32), padding.PKCS7(128).padder()
        encryptor = Cipher(algorithms.AES(key), modes.CBC(key[:16])).encryptor()
        plain = padder.update(json.dumps(content).encode()) + padder.finalize()
        data = encryptor.update(plain) + encryptor.finalize()
        oaep = rsa_padding.OAEP(rsa_padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        public: Any = certificate.public_key()
        parts = {"data": data, "dataSignature": hmac.new(key, data, hashlib.sha256).digest()}
        parts |= {"dataKey": public.encrypt(key, oaep)}
        encoded = {name: base64.b64encode(value).decode() for name, value in parts.items()}
        return {**encoded, "encryptionCertificateId": found["encryptionCertificateId"]}

    def build_token(self, **more: Any) -> str:
        claims = {"iss": f"{self.url}/{TENANT}/v2.0", "aud": CLIENT, "azp": GRAPH_APP_ID}
        return sign_token(claims | more)

    def build_message(self, text: str, by: str = "Ann", **more: Any) -> dict[str, Any]:
        """A rich notification of a chat message."""
        content = {
            "@odata.type": "#Microsoft.Graph.chatMessage",
            "messageType": "message",
            "from": {"user": {"displayName": by}},
            "body": {"contentType": "text", "content": text},
        }
        item = self.build_item(encryptedContent=self.seal(content | more))
        return {"value": [item], "validationTokens": [self.build_token()]}

    async def drop_connections(self) -> None:
        raise NotImplementedError


def _fault(status: int) -> web.HTTPException:
    kinds: dict[int, Any] = {
        400: web.HTTPBadRequest,
        403: web.HTTPForbidden,
        404: web.HTTPNotFound,
        409: web.HTTPConflict,
        503: web.HTTPServiceUnavailable,
    }
    fault: web.HTTPException = kinds[status](text='{"error": {"code": "X"}}', content_type="application/json")
    return fault


def build_request(document: Any, path: str = "") -> Request:
    return f"/msgraph_webhook{path}", json.dumps(document).encode(), {"Content-Type": "application/json"}


def sign_request(_harness: Any, body: bytes, secret: str = STATE) -> Request:
    """The same notifications with the states that this secret makes; any other body as it is."""
    try:
        document = json.loads(body)
        names = [one["clientState"].partition(".")[0] for one in document["value"]]
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return "/msgraph_webhook", body, {"Content-Type": "application/json"}
    for one, name in zip(document["value"], names, strict=True):
        mark = hmac.new(secret.encode(), name.encode(), hashlib.sha256).hexdigest()
        one["clientState"] = f"{name}.{mark}"
    return build_request(document)


class MsgraphHarness(ReceiverHarness, WiredHarness[GraphServer]):
    lacks: Mapping[str, str] = {
        "own messages": "answers go another way than notifications",
        "other bots": "all senders are programs",
        "a lost line": NO_LINE,
        "files in": "a notification brings no files",
        "two people": "a watched resource is one sender, whoever changed it",
    }
    secret = CLIENT_SECRET
    chats: Mapping[PlaceKind, str] = {"dm": "garden"}
    threads: Sequence[PlaceKind] = ()
    people = (Sender(id="garden", name="Ann"), Sender(id="inbox", name="Ben"))

    def __init__(self, server: GraphServer) -> None:
        self.server, self.kit, self.port = server, AdapterKit(None), free_port()
        self.sender = RequestSender(self.port, accepted=202)
        self.resources: dict[str, Any] = {
            "garden": {"resource": CHAT, "rich": True, "deliver": f"{server.url}/answers", "secret": ANSWER_SECRET},
            "inbox": {"resource": f"/{INBOX}", "changes": "created, updated"},
        }

    def connect(self, secret: str = CLIENT_SECRET, **more: Any) -> MsgraphWebhook:
        settings: dict[str, Any] = {
            "tenant": TENANT,
            "client_id": CLIENT,
            "client_secret": Secret(secret),
            "client_state": Secret(STATE),
            "public_url": f"http://127.0.0.1:{self.port}/msgraph_webhook/",
            "resource": "",
            "resources": self.resources,
            "key_file": str(key_file()),
            "port": self.port,
            "graph_url": self.server.url,
            "login_url": self.server.url,
        }
        return MsgraphWebhook(With(self.kit, MsgraphSettings(**settings | more)))

    def connect_wrongly(self) -> MsgraphWebhook:
        return self.connect("wrong")

    async def until_listening(self) -> None:
        await self.server.changed.until(lambda: len(self.server.subscriptions) >= len(self.resources))
        await self.sender.until_listening()

    def notify(self, document: Any, path: str = "") -> None:
        self.sender.send(lambda: build_request(document, path))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        document = self.server.build_message(text, by.name)
        self.notify(document)
        return f"{place.chat}/{document['value'][0]['id']}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        found = [one for one in self.server.got if one["route"] == place.chat]
        return [PostedMessage(id=one["id"], text=one["text"], by="sojourn") for one in found]

    def refusals(self, retry_after: float | None) -> Mapping[str, Any]:
        return {kind: (status, retry_after) for kind, status in _STATUS.items()}


@asynccontextmanager
async def msgraph_rig() -> AsyncIterator[MsgraphHarness]:
    async with wired(GraphServer()) as server:
        harness = MsgraphHarness(server)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
