"""Signatures of webhooks, given and checked.

Ours covers the time and the body: `X-Sojourn-Signature: sha256=<HMAC of "<X-Sojourn-Timestamp>.<body>">`. That of many
services, `X-Hub-Signature-256`, covers the body alone and is taken as well.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from sojourn.core.settings import Secret

_MAX_AGE_SECONDS = 300.0  # seconds a signature of ours is good for


def sign(secret: Secret, body: bytes, now: float) -> dict[str, str]:
    stamp = str(int(now))
    return {"X-Sojourn-Timestamp": stamp, "X-Sojourn-Signature": _compute_mac(secret, stamp.encode() + b"." + body)}


def is_signature_valid(secret: Secret, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """`headers` are looked up in small letters."""
    stamp = headers.get("x-sojourn-timestamp", "")
    if stamp:
        fresh = stamp.isascii() and stamp.isdecimal() and len(stamp) < 16 and abs(now - int(stamp)) <= _MAX_AGE_SECONDS
        given = headers.get("x-sojourn-signature", "")
        return _is_equal(given, _compute_mac(secret, stamp.encode() + b"." + body)) and fresh
    return _is_equal(headers.get("x-hub-signature-256", ""), _compute_mac(secret, body))


def _compute_mac(secret: Secret, body: bytes) -> str:
    return "sha256=" + hmac.new(secret.reveal().encode(), body, hashlib.sha256).hexdigest()


def _is_equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())
