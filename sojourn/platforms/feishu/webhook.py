"""Feishu's webhook: encrypted and signed requests, for those who prefer them to the long connection."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from sojourn.core.errors import BadConfig
from sojourn.platforms.aes_cbc import decrypt_cbc
from sojourn.platforms.feishu import NAME, FeishuSettings
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_object, read_text, to_json
from sojourn.platforms.request_checks import RequestRefused, is_equal, is_recent, parse_request_json
from sojourn.ports.store import RecordStore

_IV_BYTES = 16
_MAX_AGE_SECONDS = 86_400.0  # Feishu repeats a request for hours; what is stored is known by its id
_STORE_TIMEOUT_SECONDS = 2.5  # Feishu waits 3
_EMPTY_ANSWER = RequestAnswer(body=b"{}")


def build_receiver(
    store: RecordStore, settings: FeishuSettings, *, is_wanted: Callable[[Mapping[str, Any]], bool]
) -> HttpReceiver[dict[str, Any]]:
    """Receives events of one app; those that nobody wants are answered at once. BadConfig without the two keys."""
    key, token = settings.encrypt_key.reveal(), settings.verification_token.reveal()
    if not key or not token:
        hint = "Copy both from Events & callbacks, Encryption strategy."
        raise BadConfig("Feishu's webhook needs encrypt_key and verification_token.", hint=hint)

    async def read_request(request: IncomingRequest) -> RequestAnswer | Delivery[dict[str, Any]]:
        if request.method != "POST" or request.path:
            raise RequestRefused("its address is not the webhook's")
        event = _decrypt_event(key, request.body)
        if read_text(event, "type") == "url_verification":  # Feishu signs this one not
            if not is_equal(read_text(event, "token"), token):
                raise RequestRefused("its token is not verification_token")
            return RequestAnswer(body=to_json({"challenge": read_text(event, "challenge")[:1000]}).encode())
        _check_signature(key, request)
        header = read_object(event, "header")
        if not is_equal(read_text(header, "token"), token):
            raise RequestRefused("its token is not verification_token")
        id = read_text(read_object(read_object(event, "event"), "message"), "message_id")
        id = id or read_text(header, "event_id")
        if read_text(header, "app_id") != settings.app_id or not id or len(id) > 300 or not is_wanted(event):
            return _EMPTY_ANSWER
        return Delivery(items=((id, event),), answer=_EMPTY_ANSWER)

    return HttpReceiver(store, NAME, settings, read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS)


def _decrypt_event(key: str, body: bytes) -> dict[str, Any]:
    """RequestRefused, in the same words whatever is wrong: they would help to decrypt an event that somebody saw."""
    encrypted = read_text(parse_request_json(body), "encrypt")
    try:
        return parse_request_json(decrypt(key, encrypted))
    except (ValueError, RequestRefused) as error:
        raise RequestRefused("it is not encrypted with encrypt_key") from error


def decrypt(key: str, encrypted: str) -> bytes:
    """ValueError if it was not encrypted with this key."""
    try:
        data = base64.b64decode(encrypted, validate=True)
    except binascii.Error as error:
        raise ValueError("not Base64") from error
    return decrypt_cbc(hashlib.sha256(key.encode()).digest(), data[:_IV_BYTES], data[_IV_BYTES:])


def compute_signature(key: str, headers: Mapping[str, str], body: bytes) -> str:
    """`X-Lark-Signature` of a request."""
    stamp, nonce = (headers.get(f"x-lark-request-{one}", "") for one in ("timestamp", "nonce"))
    return hashlib.sha256(f"{stamp}{nonce}{key}".encode(errors="replace") + body).hexdigest()


def _check_signature(key: str, request: IncomingRequest) -> None:
    if not is_equal(request.headers.get("x-lark-signature", ""), compute_signature(key, request.headers, request.body)):
        raise RequestRefused("its signature does not match encrypt_key")
    if not is_recent(request.headers.get("x-lark-request-timestamp", ""), _MAX_AGE_SECONDS):
        raise RequestRefused("its time is too far from ours")
