"""QQ's HTTP API: the gateway's address, messages and files, and what its codes mean."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import httpx2

from sojourn.core.errors import SendRefused
from sojourn.platforms.expiring_token import ExpiringToken, TokenExpired
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.qqbot import SECRET_VARIABLE, QqbotSettings
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.ports.platform import File

TICKET_CODES = frozenset({304026, 304027})  # the message that is answered is unknown, or too old
_TOKEN_CODE = 11243
_WINDOW_HINT = "QQ lets a bot only answer: for an hour in private, for five minutes in a group, five times each."
_CODES = ResultCodes(
    label="QQ",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={
        429: "rate_limited",
        22009: "rate_limited",
        404: "not_found",
        403: "forbidden",
        304022: "forbidden",
        304025: "forbidden",
        304026: "forbidden",
        304027: "forbidden",
        304028: "forbidden",
        40034102: "forbidden",
        40034105: "forbidden",
        304003: "bad_format",
        50055: "bad_format",
        50056: "bad_format",
        50057: "bad_format",
        304020: "too_long",
    },
    hints={40034102: _WINDOW_HINT, 40034105: _WINDOW_HINT, 304003: "Register the address of the link for the bot."},
    good_codes=frozenset({0, 304023, 304024}),  # the last two: taken, and waiting for an audit
)
_TOKEN_CODES = ResultCodes(
    label="QQ",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={100001: "rate_limited"},
    key_codes=frozenset({100007, 100016}),
)


class QqbotApi:
    """One bot."""

    def __init__(self, settings: QqbotSettings) -> None:
        self._settings = settings
        self._http = RestClient("QQ", settings.base_url, key=SECRET_VARIABLE)
        self._tokens = RestClient("QQ", settings.token_url, key=SECRET_VARIABLE)
        self.token = ExpiringToken(self._fetch_token, to_key_refused=self._http.to_key_refused)

    async def _fetch_token(self) -> tuple[str, float]:
        body = {"appId": self._settings.app_id, "clientSecret": self._settings.client_secret.reveal()}
        reply = await self._tokens.request("POST", "/app/getAppAccessToken", json=body)
        page = parse_body(reply)
        if isinstance(page, dict) and (token := read_text(page, "access_token")):
            return token, float(read_code(page, "expires_in") or 0)
        _TOKEN_CODES.check(page)
        raise SendRefused("QQ gives no token.", kind="unknown")

    async def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Calls the API. SendRefused, KeyRefused, PlatformDown."""

        async def request(token: str) -> dict[str, Any]:
            headers = {"Authorization": f"QQBot {token}"}
            return _check(await self._http.exchange(method, path, json=body, headers=headers))

        return await self.token.use(request)

    async def upload(self, path: str, file: File) -> str:
        """Uploads a file to a chat; gives what a message names it by."""
        kind = {"image": 1, "video": 2}.get(file.media_type.partition("/")[0], 4)
        data = base64.b64encode(file.data).decode()
        body: dict[str, Any] = {"file_type": kind, "file_data": data, "srv_send_msg": False}
        body |= {"file_name": file.name} if kind == 4 and file.name else {}
        info = read_text(await self.call("POST", path, body), "file_info")
        if not info:
            raise SendRefused("QQ did not accept the file.", kind="unknown")
        return info

    async def close(self) -> None:
        await self._http.close()
        await self._tokens.close()


def _check(reply: httpx2.Response) -> dict[str, Any]:
    document = parse_body(reply)
    page = document if isinstance(document, dict) else {}
    code = read_code(page, "code") or (0 if reply.is_success else reply.status_code)
    if reply.status_code == 401 or code == _TOKEN_CODE:
        raise TokenExpired
    if reply.status_code >= 500 and code not in _CODES.kinds:
        raise SendRefused(f"QQ says: {code}.", kind="transient")
    if code not in _CODES.kinds and reply.status_code in _CODES.kinds:
        page, code = page | {"message": f"{code} {page.get('message', '')}"}, reply.status_code
    if reply.is_success and code == 0 and not isinstance(document, dict):
        raise SendRefused("QQ answers without a result.", kind="unknown")
    return _CODES.check(page | {"code": code})
