"""QQ's webhook: the server of `qqbot`, which sends signed requests, and its harness."""

import json
import time
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sojourn.core.settings import Secret
from sojourn.platforms.qqbot import QqbotSettings
from sojourn.platforms.qqbot.adapter import Qqbot, make
from sojourn.testing.hermes_process import free_port
from tests.servers.adapter_context import With
from tests.servers.platform_server import wired
from tests.servers.qqbot import APP, SECRET, QqbotHarness, QqbotServer
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender


class QqbotWebhookServer(QqbotServer):
    """The same bot, to whom QQ sends requests."""

    sender: RequestSender

    async def push(self, event: str, data: Any, *, keep: bool = True) -> None:
        number = next(self._numbers)
        frame = {"op": 0, "t": event, "s": number, "d": data, "id": f"{event}:{number}"}
        body = json.dumps(frame).encode()
        self.sender.send(lambda: sign_request(body))


def sign_request(body: bytes, secret: str = SECRET, at: float | None = None) -> Request:
    """As QQ describes it: Ed25519 over the time and the body, the secret repeated as the seed."""
    seed = (secret or "x").encode()
    while len(seed) < 32:
        seed += seed
    stamp = str(int(time.time() if at is None else at))
    mark = Ed25519PrivateKey.from_private_bytes(seed[:32]).sign(stamp.encode() + body).hex()
    headers = {"X-Signature-Timestamp": stamp, "X-Signature-Ed25519": mark, "X-Bot-Appid": APP}
    return "/qqbot", body, {"Content-Type": "application/json", **headers}


class QqbotWebhookHarness(ReceiverHarness, QqbotHarness):
    lacks: Mapping[str, str] = {**QqbotHarness.lacks, "a lost line": NO_LINE}

    def __init__(self, server: QqbotWebhookServer, markdown: bool) -> None:
        super().__init__(server, markdown)
        self.port = free_port()
        self.sender = server.sender = RequestSender(self.port)

    def connect(self, secret: str = SECRET) -> Qqbot:
        url = self.server.url
        settings = QqbotSettings(
            app_id=APP,
            client_secret=Secret(secret),
            markdown=self._markdown,
            base_url=url,
            token_url=url,
            webhook=True,
            port=self.port,
        )
        return make(With(self.kit, settings))


@asynccontextmanager
async def qqbot_webhook_rig(markdown: bool = True):
    async with wired(QqbotWebhookServer()) as server:
        harness = QqbotWebhookHarness(server, markdown)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
