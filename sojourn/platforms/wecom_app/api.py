"""WeCom's HTTP API for a self-built app: messages, files, and what its codes mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2

from sojourn.core.errors import SendRefused
from sojourn.platforms.json_values import parse_body, read_text
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.token_client import TokenClient
from sojourn.platforms.wecom_app import SECRET_VARIABLE, WecomAppSettings
from sojourn.ports.platform import BotProfile, File

_CODES = ResultCodes(
    label="WeCom",
    key=SECRET_VARIABLE,
    code_field="errcode",
    message_field="errmsg",
    kinds={
        "transient": (-1,),
        "rate_limited": (45009, 45033),
        "not_found": (40003, 81013, 60111),
        "forbidden": (48002, 60011, 60020),
        "bad_format": (40008, 40035, 44004, 40058),
        "too_long": (45002, 40009),
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


class WecomAppApi(TokenClient):
    """One app of one company."""

    def __init__(self, settings: WecomAppSettings) -> None:
        super().__init__("WeCom", settings.base_url, key=SECRET_VARIABLE)
        self._settings = settings

    async def fetch_token(self) -> tuple[str, float]:
        secret = self._settings.corp_secret.reveal()
        query = {"corpid": self._settings.corp_id, "corpsecret": secret}
        page = parse_body(await self._http.request("GET", "/cgi-bin/gettoken", params=query))
        if read_code(page, "errcode") in _CODES.token_codes:
            raise self._http.to_key_refused()
        page = _CODES.check(page)
        return read_text(page, "access_token"), float(read_code(page, "expires_in") or 0)

    def authorize(self, token: str) -> dict[str, dict[str, str]]:
        return {"params": {"access_token": token}}

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        return _CODES.check_body(reply)

    async def fetch_profile(self) -> BotProfile:
        page = await self.call("GET", "/cgi-bin/agent/get", params={"agentid": str(self._settings.agent_id)})
        return BotProfile(name=read_text(page, "name") or "WeCom", picture=read_text(page, "square_logo_url"))

    async def send(self, person: str, body: Mapping[str, Any]) -> str:
        """Sends a message to a member; gives its id."""
        message = {"touser": person, "agentid": self._settings.agent_id, **body}
        page = await self.call("POST", "/cgi-bin/message/send", json=message)
        if read_text(page, "invaliduser"):
            hint = "The person is outside the app's visible range, or has left."
            raise SendRefused("WeCom does not know this person.", kind="not_found", hint=hint)
        return read_text(page, "msgid")

    async def upload(self, file: File) -> tuple[str, str]:
        """Uploads a file; gives its kind and what a message names it by."""
        kind = _FILE_KINDS.get(file.media_type, "file")
        part = (file.name or "file", file.data, file.media_type)
        page = await self.call("POST", "/cgi-bin/media/upload", params={"type": kind}, files={"media": part})
        return kind, read_text(page, "media_id")

    async def download(self, media: str) -> File:
        """A file of a message. SendRefused, PlatformDown."""

        def read(reply: httpx2.Response) -> File:
            served = reply.headers.get("content-type", "").partition(";")[0].strip()
            is_document = served in ("application/json", "text/plain")
            if not reply.is_success or (is_document and read_code(parse_body(reply), "errcode")):
                self.check(reply)
            found = _NAME.search(reply.headers.get("content-disposition", ""))
            media_type, name = served or "application/octet-stream", found[1] if found else "file"
            return File(name=name, media_type=media_type, data=reply.content)

        return await self.request("GET", "/cgi-bin/media/get", read, params={"media_id": media})
