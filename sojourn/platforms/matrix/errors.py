"""Errors of Matrix: what a homeserver's refusal means to the gateway."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import ClientError
from aiohttp_socks import ProxyError
from nio import ErrorResponse

from sojourn.core.errors import KeyRefused, Refusal, SendRefused, SojournError
from sojourn.platforms.matrix import MatrixSettings

OUTAGES = (ClientError, ProxyError, TimeoutError)
_KINDS: Mapping[str, Refusal] = {
    "M_FORBIDDEN": "forbidden",
    "M_GUEST_ACCESS_FORBIDDEN": "forbidden",
    "M_NOT_FOUND": "not_found",
    "M_TOO_LARGE": "too_long",
    "M_LIMIT_EXCEEDED": "rate_limited",
    "M_BAD_JSON": "bad_format",
}


def translate_error(answer: ErrorResponse, what: str, settings: MatrixSettings) -> SojournError:
    code, why = answer.status_code or "", answer.message
    status = answer.transport_response.status if answer.transport_response is not None else 0
    if code in ("M_UNKNOWN_TOKEN", "M_MISSING_TOKEN"):
        hint = "Set SOJOURN_MATRIX_ACCESS_TOKEN to one that is valid."
        return KeyRefused(f"{settings.homeserver} refuses the access token of {settings.user}.", hint=hint)
    kind: Refusal = _KINDS.get(code, "transient" if status >= 500 else "unknown")
    wait = answer.retry_after_ms / 1000 if answer.retry_after_ms else None
    return SendRefused(f"Matrix could not {what}: {why}.", kind=kind, retry_after=wait)
