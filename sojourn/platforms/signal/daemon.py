"""Client of the signal-cli daemon: JSON-RPC for requests, server-sent events for messages."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from typing import Any

import httpx2

from sojourn.core.errors import KeyRefused, PlatformDown, Refusal, SendRefused, SojournError
from sojourn.platforms.json_values import parse_object, read_object, read_objects
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.signal import SignalSettings

_SILENCE_SECONDS = 45.0  # the daemon sends a sign of life every 15, older ones also the headers only then
_SEND_SECONDS = 120.0  # of one request: files are uploaded meanwhile
_TRUST_HINT = "Their key changed. Compare it with theirs, then run `signal-cli trust`."
_CAPTCHA_HINT = "Signal wants a captcha solved: see `signal-cli submitRateLimitChallenge`."
_WORDS: tuple[tuple[str, Refusal], ...] = (  # user errors differ only in their text
    ("unregistered", "not_found"),
    ("not registered", "not_found"),
    ("not found", "not_found"),
    ("no such", "not_found"),
    ("not a member", "forbidden"),
    ("not a group member", "forbidden"),
    ("not allowed", "forbidden"),
    ("rate limit", "rate_limited"),
    ("retry after", "rate_limited"),
)
_FAILURES: Mapping[str, Refusal] = {
    "NETWORK_FAILURE": "transient",
    "UNREGISTERED_FAILURE": "not_found",
    "IDENTITY_FAILURE": "forbidden",
    "RATE_LIMIT_FAILURE": "rate_limited",
    "INVALID_PRE_KEY_FAILURE": "transient",
}


class SignalDaemon:
    """One account of one daemon."""

    def __init__(self, settings: SignalSettings) -> None:
        self._account = settings.account
        self._http = RestClient("The signal-cli daemon", settings.url, key="SOJOURN_SIGNAL_URL")
        self._number = 0

    async def call(self, method: str, **params: Any) -> Any:
        """Returns the result of a request. SendRefused, KeyRefused, PlatformDown."""
        self._number += 1
        request = {"jsonrpc": "2.0", "id": str(self._number), "method": method}
        timeout = httpx2.Timeout(_SEND_SECONDS, connect=10.0)
        reply = await self._http.request(
            "POST", "/api/v1/rpc", json=request | {"params": {"account": self._account, **params}}, timeout=timeout
        )
        answer = parse_object(reply.text)
        if error := read_object(answer, "error"):
            raise self._to_error(error)
        if "result" not in answer:
            raise SendRefused("The signal-cli daemon gave an unknown answer.", kind="transient")
        return answer["result"]

    async def events(self) -> AsyncGenerator[Any, None]:
        """Yields what the daemon receives. It fetches messages while this is open, if it was started so; closing it
        stops that. KeyRefused, PlatformDown."""
        timeout = httpx2.Timeout(_SILENCE_SECONDS, connect=10.0)
        try:
            stream = self._http.stream("/api/v1/events", params={"account": self._account}, timeout=timeout)
            async with stream as reply:
                async for line in reply.aiter_lines():
                    if line.startswith("data:"):
                        yield parse_object(line[5:])
        except SendRefused as error:
            raise self._to_key_refused() if error.kind == "bad_format" else PlatformDown(str(error)) from error
        raise self._http.to_platform_down(EOFError("the connection was closed"))

    def _to_key_refused(self) -> KeyRefused:
        hint = "Register or link it with signal-cli, and check SOJOURN_SIGNAL_ACCOUNT."
        return KeyRefused(f"The signal-cli daemon does not have the account {self._account}.", hint=hint)

    def _to_error(self, error: Mapping[str, Any]) -> SojournError:
        code, text = error.get("code"), " ".join(str(error.get("message", "")).split())[:300]
        why, words = f"Signal says: {text}.", text.lower()
        if code == -32602 and "account does not exist" in words:
            return self._to_key_refused()
        if code == -3:
            return PlatformDown(f"The daemon cannot reach Signal: {text}.")
        for failure in find_failures(read_object(error.get("data"), "response")):
            return failure
        if hint := {-4: _TRUST_HINT, -6: _CAPTCHA_HINT}.get(code or 0):
            return SendRefused(why, kind="forbidden", hint=hint)
        kind: Refusal = "transient" if code == -32603 else "bad_format"
        kind = "rate_limited" if code == -5 else next((kind for part, kind in _WORDS if part in words), kind)
        wait = re.search(r"retry after (\d{1,6})", words)
        return SendRefused(why, kind=kind, retry_after=float(wait[1]) if wait else None)

    async def close(self) -> None:
        await self._http.close()


def find_failures(response: Any) -> Iterator[SendRefused]:
    """The failures of a message that reached nobody; one that reached some of a group has none."""
    found = read_objects(response, "results")
    if any(one.get("type") == "SUCCESS" for one in found):
        return
    for one in found:
        kind: Refusal = _FAILURES.get(str(one.get("type")), "unknown")
        wait = one.get("retryAfterSeconds")
        hint = _TRUST_HINT if kind == "forbidden" else _CAPTCHA_HINT if one.get("token") else ""
        seconds = float(wait) if isinstance(wait, int | float) and wait > 0 else None
        yield SendRefused(f"Signal says: {one.get('type')}.", kind=kind, retry_after=seconds, hint=hint)
