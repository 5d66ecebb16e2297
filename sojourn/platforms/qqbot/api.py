"""QQ's HTTP API: the gateway's address, messages and files, and what its codes mean."""

from __future__ import annotations

import base64
from typing import Any

import httpx2

from sojourn.core.errors import SendRefused
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.qqbot import SECRET_VARIABLE, QqbotSettings
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.token_client import TokenClient
from sojourn.ports.platform import File

TICKET_CODES = frozenset({304026, 304027})  # the message that is answered is unknown, or too old
_TOKEN_CODE = 11243
_WINDOW_CODES = (40034102, 40034105)
_WINDOW_HINT = "QQ lets a bot only answer: for an hour in private, for five minutes in a group, five times each."
_CODES = ResultCodes(
    label="QQ",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={
        "rate_limited": (429, 22009),
        "not_found": (404,),
        "forbidden": (403, 304022, 304025, *TICKET_CODES, 304028, *_WINDOW_CODES),
        "bad_format": (304003, 50055, 50056, 50057),
        "too_long": (304020,),
    },
    hints={**dict.fromkeys(_WINDOW_CODES, _WINDOW_HINT), 304003: "Register the address of the link for the bot."},
    good_codes=frozenset({0, 304023, 304024}),  # the last two: taken, and waiting for an audit
)
_TOKEN_CODES = ResultCodes(
    label="QQ",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={"rate_limited": (100001,)},
    key_codes=frozenset({100007, 100016}),
)


class QqbotApi(TokenClient):
    """One bot."""

    def __init__(self, settings: QqbotSettings) -> None:
        super().__init__("QQ", settings.base_url, key=SECRET_VARIABLE)
        self._settings = settings
        self._tokens = RestClient("QQ", settings.token_url, key=SECRET_VARIABLE)

    async def fetch_token(self) -> tuple[str, float]:
        body = {"appId": self._settings.app_id, "clientSecret": self._settings.client_secret.reveal()}
        page = parse_body(await self._tokens.request("POST", "/app/getAppAccessToken", json=body))
        if token := read_text(page, "access_token"):
            return token, float(read_code(page, "expires_in") or 0)
        _TOKEN_CODES.check(page)
        raise SendRefused("QQ gives no token.", kind="unknown")

    def authorize(self, token: str) -> dict[str, dict[str, str]]:
        return {"headers": {"Authorization": f"QQBot {token}"}}

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        document = parse_body(reply)
        page = document if isinstance(document, dict) else {}
        code = read_code(page, "code") or (0 if reply.is_success else reply.status_code)
        if reply.status_code == 401 or code == _TOKEN_CODE:
            raise TokenExpired
        if reply.status_code >= 500 and not _CODES.knows(code):
            raise SendRefused(f"QQ says: {code}.", kind="transient")
        if not _CODES.knows(code) and _CODES.knows(reply.status_code):
            page, code = page | {"message": f"{code} {page.get('message', '')}"}, reply.status_code
        if reply.is_success and code == 0 and not isinstance(document, dict):
            raise SendRefused("QQ answers without a result.", kind="unknown")
        return _CODES.check(page | {"code": code})

    async def upload(self, path: str, file: File) -> str:
        """Uploads a file to a chat; gives what a message names it by."""
        kind = {"image": 1, "video": 2}.get(file.media_type.partition("/")[0], 4)
        data = base64.b64encode(file.data).decode()
        body: dict[str, Any] = {"file_type": kind, "file_data": data, "srv_send_msg": False}
        body |= {"file_name": file.name} if kind == 4 and file.name else {}
        info = read_text(await self.call("POST", path, json=body), "file_info")
        if not info:
            raise SendRefused("QQ did not accept the file.", kind="unknown")
        return info

    async def close(self) -> None:
        await super().close()
        await self._tokens.close()
