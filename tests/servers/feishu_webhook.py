"""Feishu's webhook: the server of `feishu`, which sends encrypted and signed requests, and its harness."""

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sojourn.core.settings import Secret
from sojourn.platforms.feishu import FeishuSettings
from sojourn.platforms.feishu.adapter import Feishu
from sojourn.testing.hermes_process import free_port
from tests.servers.adapter_context import With
from tests.servers.feishu import APP, SECRET, FeishuHarness, FeishuServer
from tests.servers.platform_server import wired
from tests.servers.request_sender import NO_LINE, ReceiverHarness, Request, RequestSender

ENCRYPT_KEY, VERIFICATION_TOKEN = "encrypt-1618033988", "verify-2236067977"


class FeishuWebhookServer(FeishuServer):
    """The same app, to whom Feishu sends requests."""

    sender: RequestSender

    async def push(self, payload: Any, *, parts: int = 1, keep: bool = True, kind: str = "event") -> str:
        payload["header"] |= {"token": VERIFICATION_TOKEN}
        body = encrypt_event(payload)
        self.sender.send(lambda: sign_request(body))
        return str(payload["header"]["event_id"])


def encrypt_event(document: Any, key: str = ENCRYPT_KEY) -> bytes:
    """As Feishu describes it: AES-256-CBC, the hash of the key, the initial vector before the text."""
    plain = json.dumps(document).encode()
    plain += bytes([16 - len(plain) % 16]) * (16 - len(plain) % 16)
    encryptor = Cipher(
        algorithms.AES256(hashlib.sha256(key.encode()).digest()), modes.CBC(bytes(range(16)))
    ).encryptor()
    encrypted = bytes(range(16)) + encryptor.update(plain) + encryptor.finalize()
    return json.dumps({"encrypt": base64.b64encode(encrypted).decode()}).encode()


def sign_request(body: bytes, key: str = ENCRYPT_KEY, at: float | None = None) -> Request:
    stamp, nonce = str(int(time.time() if at is None else at)), "n-31415"
    mark = hashlib.sha256(f"{stamp}{nonce}{key}".encode() + body).hexdigest()
    headers = {"X-Lark-Request-Timestamp": stamp, "X-Lark-Request-Nonce": nonce, "X-Lark-Signature": mark}
    return "/feishu", body, {"Content-Type": "application/json", **headers}


class FeishuWebhookHarness(ReceiverHarness, FeishuHarness):
    lacks: Mapping[str, str] = {**FeishuHarness.lacks, "a lost line": NO_LINE}

    def __init__(self, server: FeishuWebhookServer) -> None:
        super().__init__(server)
        self.port = free_port()
        self.sender = server.sender = RequestSender(self.port)

    def connect(self, secret: str = SECRET) -> Feishu:
        settings = FeishuSettings(
            app_id=APP,
            app_secret=Secret(secret),
            base_url=self.server.url,
            webhook=True,
            encrypt_key=Secret(ENCRYPT_KEY),
            verification_token=Secret(VERIFICATION_TOKEN),
            port=self.port,
        )
        return Feishu(With(self.kit, settings))


@asynccontextmanager
async def feishu_webhook_rig():
    async with wired(FeishuWebhookServer()) as server:
        harness = FeishuWebhookHarness(server)
        yield harness
        await harness.sender.close()
        await harness.kit.close()
