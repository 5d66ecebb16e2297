"""QQ's webhook: requests signed with Ed25519, by a key that is made of the bot's secret."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_object, read_text, to_json
from sojourn.platforms.qqbot import NAME, QqbotSettings
from sojourn.platforms.request_checks import RequestRefused, is_recent, parse_request_json
from sojourn.ports.store import RecordStore

_DISPATCH, _ACKNOWLEDGE, _VALIDATE = 0, 12, 13  # op codes
_MAX_AGE_SECONDS = 86_400.0  # QQ may repeat a request later; what is stored is known by its id
_STORE_TIMEOUT_SECONDS = 4.0
_SEED_BYTES = 32
_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_STAMP = re.compile(r"[0-9]{1,15}")


def build_receiver(
    store: RecordStore, settings: QqbotSettings, *, is_wanted: Callable[[str, Mapping[str, Any]], bool]
) -> HttpReceiver[dict[str, Any]]:
    """Receives events of one bot: `t` is their kind, `d` what they say. What nobody wants is answered at once."""
    key = build_key(settings.client_secret.reveal())

    async def read_request(request: IncomingRequest) -> RequestAnswer | Delivery[dict[str, Any]]:
        if request.method != "POST" or request.path:
            raise RequestRefused("its address is not the webhook's")
        if answer := _answer_check(key, request.body):
            return answer
        stamp = request.headers.get("x-signature-timestamp", "")
        if request.headers.get("x-bot-appid", settings.app_id) != settings.app_id:
            raise RequestRefused("it is for another bot")
        if not is_signed(key, stamp, request.body, request.headers.get("x-signature-ed25519", "")):
            raise RequestRefused("its signature does not match client_secret")
        if not is_recent(stamp, _MAX_AGE_SECONDS):
            raise RequestRefused("its time is too far from ours")
        event = parse_request_json(request.body)
        kind, data = read_text(event, "t"), read_object(event, "d")
        answer = RequestAnswer(body=to_json({"op": _ACKNOWLEDGE}).encode())
        if event.get("op") != _DISPATCH or not is_wanted(kind, data):
            return answer
        return Delivery(items=((f"{kind}:{read_text(data, 'id')}", event),), answer=answer)

    return HttpReceiver(store, NAME, settings, read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS)


def build_key(secret: str) -> Ed25519PrivateKey:
    """The secret, repeated until it is long enough, is the seed."""
    seed = secret.encode()
    return Ed25519PrivateKey.from_private_bytes((seed * (_SEED_BYTES // max(1, len(seed)) + 1))[:_SEED_BYTES])


def is_signed(key: Ed25519PrivateKey, stamp: str, body: bytes, given: str) -> bool:
    if _STAMP.fullmatch(stamp) is None or _SIGNATURE.fullmatch(given) is None:
        return False
    try:
        key.public_key().verify(bytes.fromhex(given), stamp.encode() + body)
    except InvalidSignature:
        return False
    return True


def _answer_check(key: Ed25519PrivateKey, body: bytes) -> RequestAnswer | None:
    """Signs what QQ sends when the address is entered; None if it is something else.

    QQ does not sign this request, and anybody may make it. So only plain words are signed: no event begins with one.
    """
    try:
        event: Mapping[str, Any] = parse_request_json(body)
    except RequestRefused:
        return None
    data = read_object(event, "d")
    token, stamp = read_text(data, "plain_token"), read_text(data, "event_ts")
    if event.get("op") != _VALIDATE or not _TOKEN.fullmatch(token) or not _STAMP.fullmatch(stamp):
        return None
    signature = key.sign(f"{stamp}{token}".encode()).hex()
    return RequestAnswer(body=to_json({"plain_token": token, "signature": signature}).encode())
