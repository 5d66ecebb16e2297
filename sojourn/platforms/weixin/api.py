"""Weixin's HTTP API, iLink: requests of a bot, and what its codes mean."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from typing import Any

import httpx2

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.json_values import parse_body
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.weixin import TOKEN_VARIABLE, WeixinSettings

REFUSED_CODE = -2  # too many messages, or a context token that has grown old: Weixin does not say which
_SESSION_OVER_CODE = -14
_APP_ID, _CLIENT_VERSION = "bot", 2 << 16 | 4 << 8 | 9  # of the plugin whose wire this is
_BASE_INFO = {"channel_version": "2.4.9", "bot_agent": "Sojourn/1"}
_CODES = ResultCodes(
    label="Weixin",
    key=TOKEN_VARIABLE,
    code_field="code",
    message_field="errmsg",
    kinds={"rate_limited": (REFUSED_CODE,)},
)


def build_headers(token: str = "") -> dict[str, str]:
    """The headers of every request; the number of a WeChat user is made up anew each time, as the plugin does."""
    headers = {
        "AuthorizationType": "ilink_bot_token",
        "X-WECHAT-UIN": base64.b64encode(str(secrets.randbits(32)).encode()).decode(),
        "iLink-App-Id": _APP_ID,
        "iLink-App-ClientVersion": str(_CLIENT_VERSION),
    }
    return headers | ({"Authorization": f"Bearer {token}"} if token else {})


class WeixinApi:
    """One bot."""

    def __init__(self, settings: WeixinSettings) -> None:
        self._token = settings.token
        self._http = RestClient("Weixin", settings.base_url, key=TOKEN_VARIABLE)

    async def call(self, name: str, body: Mapping[str, Any], *, seconds: float = 15.0) -> dict[str, Any]:
        """Calls `ilink/bot/<name>`. SendRefused, KeyRefused, PlatformDown."""
        reply = await self._http.exchange(
            "POST",
            f"/ilink/bot/{name}",
            json={**body, "base_info": _BASE_INFO},
            headers=build_headers(self._token.reveal()),
            timeout=httpx2.Timeout(seconds, connect=10.0),
        )
        if not reply.is_success:
            raise self._http.to_error(reply)
        return _check(parse_body(reply))

    async def poll(self, cursor: str, *, seconds: float) -> dict[str, Any]:
        """Waits for messages behind the cursor; without any in time the result is empty."""
        try:
            return await self.call("getupdates", {"get_updates_buf": cursor}, seconds=seconds)
        except PlatformDown as error:
            if isinstance(error.__cause__, httpx2.ReadTimeout):
                return {}
            raise

    async def close(self) -> None:
        await self._http.close()


def _check(document: object) -> dict[str, Any]:
    """A body reports failure in `ret` or `errcode`; Weixin leaves both out when all is well."""
    if not isinstance(document, dict):
        raise SendRefused("Weixin answers without a result.", kind="unknown")
    codes = [0 if document.get(name) is None else read_code(document, name) for name in ("errcode", "ret")]
    if _SESSION_OVER_CODE in codes:
        hint = f"Scan a new code with `sojourn gateway add weixin`; it replaces {TOKEN_VARIABLE}."
        raise KeyRefused("Weixin has ended the bot's session.", hint=hint)
    if None in codes:
        raise SendRefused("Weixin answers without a result.", kind="unknown")
    return _CODES.check(document | {"code": next((code for code in codes if code), 0)})


def is_refusal(error: SendRefused) -> bool:
    """Whether Weixin gave the code that has two meanings."""
    return error.kind == "rate_limited" and str(error).startswith(f"Weixin says: {REFUSED_CODE} ")
