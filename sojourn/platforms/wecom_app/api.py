"""WeCom's HTTP API for a self-built app: messages, files, and what its codes mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from sojourn.core.errors import SendRefused
from sojourn.platforms.expiring_token import ExpiringToken
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.wecom_app import SECRET_VARIABLE, WecomAppSettings
from sojourn.ports.platform import BotProfile, File

_CODES = ResultCodes(
    label="WeCom",
    key=SECRET_VARIABLE,
    code_field="errcode",
    message_field="errmsg",
    kinds={
        -1: "transient",
        45009: "rate_limited",
        45033: "rate_limited",
        40003: "not_found",
        81013: "not_found",
        60111: "not_found",
        48002: "forbidden",
        60011: "forbidden",
        60020: "forbidden",
        40008: "bad_format",
        40035: "bad_format",
        44004: "bad_format",
        40058: "bad_format",
        45002: "too_long",
        40009: "too_long",
    },
    hints={
        60020: "Add this machine's public address to the app: Company trusted IP.",
        60011: "The person is outside the app's visible range.",
        81013: "The person is outside the app's visible range, or has left.",
    },
    key_codes=frozenset({40013, 40056}),
    token_codes=frozenset({40001, 40014, 42001}),
)
_FILE_KINDS = {"image/jpeg": "image", "image/png": "image", "audio/amr": "voice", "video/mp4": "video"}
_NAME = re.compile(r'filename="?([^";]{1,200})"?')


class WecomAppApi:
    """One app of one company."""

    def __init__(self, settings: WecomAppSettings) -> None:
        self._settings = settings
        self._http = RestClient("WeCom", settings.base_url, key=SECRET_VARIABLE)
        self._token = ExpiringToken(self._fetch_token, to_key_refused=self._http.to_key_refused)

    async def _fetch_token(self) -> tuple[str, float]:
        secret = self._settings.corp_secret.reveal()
        query = {"corpid": self._settings.corp_id, "corpsecret": secret}
        page = parse_body(await self._http.request("GET", "/cgi-bin/gettoken", params=query))
        if read_code(page, "errcode") in _CODES.token_codes:
            raise self._http.to_key_refused()
        page = _CODES.check(page)
        return read_text(page, "access_token"), float(read_code(page, "expires_in") or 0)

    async def call(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Calls the API. SendRefused, KeyRefused, PlatformDown."""

        async def request(token: str) -> dict[str, Any]:
            params = {"access_token": token, **(query or {})}
            return _check(await self._http.exchange(method, f"/cgi-bin/{path}", params=params, **options))

        return await self._token.use(request)

    async def fetch_profile(self) -> BotProfile:
        page = await self.call("GET", "agent/get", query={"agentid": str(self._settings.agent_id)})
        return BotProfile(name=read_text(page, "name") or "WeCom", picture=read_text(page, "square_logo_url"))

    async def send(self, person: str, body: Mapping[str, Any]) -> str:
        """Sends a message to a member; gives its id."""
        message = {"touser": person, "agentid": self._settings.agent_id, **body}
        page = await self.call("POST", "message/send", json=message)
        if read_text(page, "invaliduser"):
            hint = "The person is outside the app's visible range, or has left."
            raise SendRefused("WeCom does not know this person.", kind="not_found", hint=hint)
        return read_text(page, "msgid")

    async def upload(self, file: File) -> tuple[str, str]:
        """Uploads a file; gives its kind and what a message names it by."""
        kind = _FILE_KINDS.get(file.media_type, "file")
        part = (file.name or "file", file.data, file.media_type)
        page = await self.call("POST", "media/upload", query={"type": kind}, files={"media": part})
        return kind, read_text(page, "media_id")

    async def download(self, media: str) -> File:
        """A file of a message. SendRefused, PlatformDown."""

        async def request(token: str) -> File:
            params = {"access_token": token, "media_id": media}
            reply = await self._http.exchange("GET", "/cgi-bin/media/get", params=params)
            served = reply.headers.get("content-type", "").partition(";")[0].strip()
            is_document = served in ("application/json", "text/plain")
            if not reply.is_success or (is_document and read_code(parse_body(reply), "errcode")):
                _check(reply)
            found = _NAME.search(reply.headers.get("content-disposition", ""))
            media_type, name = served or "application/octet-stream", found[1] if found else "file"
            return File(name=name, media_type=media_type, data=reply.content)

        return await self._token.use(request)

    async def close(self) -> None:
        await self._http.close()


def _check(reply: httpx2.Response) -> dict[str, Any]:
    if reply.status_code >= 500:
        raise SendRefused(f"WeCom says: {reply.status_code}.", kind="transient")
    return _CODES.check(parse_body(reply))
