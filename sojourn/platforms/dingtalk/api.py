"""DingTalk's HTTP API: the stream's address, messages, session webhooks and files, and what its errors mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from sojourn.core.errors import KeyRefused, SendRefused, SojournError
from sojourn.platforms.dingtalk import SECRET_VARIABLE, DingTalkSettings
from sojourn.platforms.expiring_token import TokenExpired
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.token_client import TokenClient
from sojourn.ports.platform import File

MESSAGE_TOPIC, CARD_TOPIC = "/v1.0/im/bot/messages/get", "/v1.0/card/instances/callback"
_SESSION_OVER_CODE = 300001
_CODES = ResultCodes(
    label="DingTalk",
    key=SECRET_VARIABLE,
    code_field="errcode",
    message_field="errmsg",
    kinds={"rate_limited": (130101,), "bad_format": (310000, 40035), "forbidden": (_SESSION_OVER_CODE,)},
    hints={_SESSION_OVER_CODE: "Write to the robot again, or give the app the right qyapi_robot_sendmsg."},
    token_codes=frozenset({40014, 42001, 88}),
)


class DingTalkApi(TokenClient):
    """One app on both of DingTalk's servers."""

    def __init__(self, settings: DingTalkSettings) -> None:
        super().__init__("DingTalk", settings.base_url, key=SECRET_VARIABLE)
        self._settings = settings
        self._oapi = RestClient("DingTalk", settings.oapi_url, key=SECRET_VARIABLE)

    async def open_stream(self) -> str:
        """Registers a connection, and gives the address of its WebSocket, which is valid once. KeyRefused."""
        body = {
            "clientId": self._settings.client_id,
            "clientSecret": self._settings.client_secret.reveal(),
            "subscriptions": [{"type": "CALLBACK", "topic": one} for one in (MESSAGE_TOPIC, CARD_TOPIC)],
            "ua": "sojourn",
        }
        reply = await self._http.exchange("POST", "/v1.0/gateway/connections/open", json=body)
        if reply.status_code in (400, 401):
            raise self._http.to_key_refused()
        page = self.check(reply)
        endpoint, ticket = str(page.get("endpoint", "")), str(page.get("ticket", ""))
        if not endpoint.startswith(("ws://", "wss://")) or not ticket:
            raise SendRefused("DingTalk gives no address for the stream.", kind="transient")
        return f"{endpoint}?ticket={quote(ticket, safe='')}"

    async def fetch_token(self) -> tuple[str, float]:
        body = {"appKey": self._settings.client_id, "appSecret": self._settings.client_secret.reveal()}
        reply = await self._http.exchange("POST", "/v1.0/oauth2/accessToken", json=body)
        if reply.status_code in (400, 401, 403):
            raise self._http.to_key_refused()
        page = self.check(reply)
        if token := read_text(page, "accessToken"):
            return token, float(read_code(page, "expireIn") or 0)
        raise SendRefused("DingTalk gives no token.", kind="unknown")

    def authorize(self, token: str) -> dict[str, dict[str, str]]:
        return {"headers": {"x-acs-dingtalk-access-token": token}}

    async def post_to_session(self, webhook: str, body: Mapping[str, Any]) -> None:
        """Answers through the address that came with a message. SendRefused, PlatformDown."""
        _CODES.check(parse_body(await self._oapi.exchange("POST", webhook, json=body)))

    def is_session_webhook(self, url: str) -> bool:
        """Whether an address is one of DingTalk's own: nothing is posted elsewhere."""
        return url.startswith(f"{self._settings.oapi_url.rstrip('/')}/")

    async def upload(self, file: File) -> str:
        """Uploads a file and gives its media id."""
        kind = file.media_type.partition("/")[0]
        kind = kind if kind in ("image", "video") else "file"

        async def request(token: str) -> dict[str, Any]:
            params = {"access_token": token, "type": kind}
            media = {"media": (file.name or "file", file.data, file.media_type)}
            return _CODES.check(
                parse_body(await self._oapi.exchange("POST", "/media/upload", params=params, files=media))
            )

        return str((await self.token.use(request)).get("media_id", ""))

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        document = parse_body(reply)
        if reply.is_success and isinstance(document, dict):
            return document
        raise self._translate_error(reply, document if isinstance(document, dict) else {})

    def _translate_error(self, reply: httpx2.Response, document: Mapping[str, Any]) -> Exception:
        code = str(document.get("code", "")).lower()
        error: SojournError = self._http.to_error(reply)
        if reply.status_code == 401 or code.startswith("invalidauthentication"):
            return TokenExpired()
        if code.endswith("robotcode.notexsit"):  # DingTalk's spelling
            return KeyRefused("DingTalk does not know the robot.", hint="Correct SOJOURN_DINGTALK_ROBOT_CODE.")
        wait = getattr(error, "retry_after", None)
        if "qpslimit" in code or "throttling" in code or reply.status_code == 429:
            return SendRefused(str(error), kind="rate_limited", retry_after=wait)
        if code.startswith("forbidden") or reply.status_code == 403:
            return SendRefused(str(error), kind="forbidden", hint=_describe_scopes(document))
        if code.startswith("invalidparameter"):
            return SendRefused(str(error), kind="bad_format")
        return error

    async def close(self) -> None:
        await super().close()
        await self._oapi.close()


def _describe_scopes(document: Mapping[str, Any]) -> str:
    detail = document.get("accessdenieddetail")
    scopes = detail.get("requiredScopes") if isinstance(detail, dict) else None
    names = ", ".join(map(str, scopes)) if isinstance(scopes, list) else "qyapi_robot_sendmsg"
    return f"Give the app the right {names} in DingTalk's developer console."
