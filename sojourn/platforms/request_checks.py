"""Checks of what a network sends us: signatures, times and JSON."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any, NoReturn

from sojourn.core.settings import Secret

_MAX_DEPTH = 32  # levels of JSON


class RequestRefused(Exception):
    """The request is not taken. `reason` is logged and must not quote it. 401 says the same as an unknown path."""

    def __init__(self, reason: str, *, status: int = 401) -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status


def parse_request_json(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. RequestRefused (400) if it is none, or is nested too deeply. Halves of characters,
    which cannot be stored, are replaced."""
    try:
        document = _clean(json.loads(body, parse_constant=_refuse_constant), _MAX_DEPTH)
    except (ValueError, RecursionError) as error:
        raise RequestRefused("it is not the JSON that was expected", status=400) from error
    if not isinstance(document, dict):
        raise RequestRefused("it is not a JSON object", status=400)
    return document


def is_equal(given: str, expected: str) -> bool:
    """Compares a signature or a secret in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode(errors="replace"))


def is_recent(stamp: str, max_age_seconds: float) -> bool:
    """Whether a time in seconds since 1970 is near ours."""
    is_number = stamp.isascii() and stamp.isdecimal() and len(stamp) < 16
    return is_number and abs(time.time() - int(stamp)) <= max_age_seconds


def compute_hub_signature(secret: Secret, body: bytes) -> str:
    """`X-Hub-Signature-256` of a body, as GitHub, Meta and others compute it."""
    return "sha256=" + hmac.new(secret.reveal().encode(), body, hashlib.sha256).hexdigest()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _clean(value: Any, levels: int) -> Any:
    if levels == 0:
        raise ValueError("too deep")
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_clean(key, levels): _clean(one, levels - 1) for key, one in value.items()}
    return [_clean(one, levels - 1) for one in value] if isinstance(value, list) else value
