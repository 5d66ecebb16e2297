"""Feishu's HTTP API: the connection's address, messages and files, and what its codes mean."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx2

from sojourn.core.errors import PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.feishu import SECRET_VARIABLE, FeishuSettings
from sojourn.platforms.json_values import parse_body, read_object, read_objects, read_text, to_json
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.token_client import TokenClient
from sojourn.ports.platform import File

MESSAGES = "/open-apis/im/v1/messages"
_PING_SECONDS, _MIN_PING_SECONDS = 120.0, 5.0
_CODES = ResultCodes(
    label="Feishu",
    key=SECRET_VARIABLE,
    code_field="code",
    message_field="msg",
    kinds={
        "rate_limited": (99991400, 230020),
        # a permission is missing, not in the group, the bot is off, not our message, not available, …, too old to edit
        "forbidden": (99991672, 230002, 230006, 230012, 230013, 230027, 230031),
        "bad_format": (230001, 230028, 230099, 99992402),  # the second: refused by an audit
        "too_long": (230025,),
        "not_found": (230011, 231003),
        "transient": (1, 1000040343, 1000040350),  # the last: too many connections
    },
    hints={
        230002: "Add the app to the group: group settings, Bots.",
        230006: "Switch on the bot in the app's settings, and release a version.",
        230013: "Make the app available to this person, and release a version.",
    },
    key_codes=frozenset({403, 514}),
    token_codes=frozenset({99991663, 99991664}),
)


class FeishuApi(TokenClient):
    """One app."""

    def __init__(self, settings: FeishuSettings) -> None:
        super().__init__("Feishu", settings.base_url, key=SECRET_VARIABLE)
        self._settings = settings

    async def open_stream(self) -> tuple[str, int, float]:
        """The WebSocket's address, the number of its service, and the seconds between pings. KeyRefused."""
        body = {"AppID": self._settings.app_id, "AppSecret": self._settings.app_secret.reveal()}
        reply = await self._http.exchange("POST", "/callback/ws/endpoint", json=body, headers={"locale": "zh"})
        data = read_object(self.check(reply), "data")
        address, seconds = read_text(data, "URL"), read_object(data, "ClientConfig").get("PingInterval")
        if not address.startswith(("ws://", "wss://")):
            raise SendRefused("Feishu gives no address for the connection.", kind="transient")
        service = parse_qs(urlsplit(address).query).get("service_id", ["0"])[0]
        seconds = float(seconds) if isinstance(seconds, int) and seconds > 0 else _PING_SECONDS
        return address, int(service) if service.isdecimal() else 0, max(_MIN_PING_SECONDS, seconds)

    async def fetch_token(self) -> tuple[str, float]:
        body = {"app_id": self._settings.app_id, "app_secret": self._settings.app_secret.reveal()}
        path = "/open-apis/auth/v3/tenant_access_token/internal"
        reply = await self._http.exchange("POST", path, json=body)
        try:
            page = self.check(reply)
        except SendRefused as error:
            if error.kind in ("rate_limited", "transient"):
                raise
            raise self._http.to_key_refused() from error
        return str(page.get("tenant_access_token", "")), float(page.get("expire", 0))

    async def fetch_bot(self) -> dict[str, Any]:
        """Our own bot: its `open_id`, `app_name` and `avatar_url`."""
        return read_object(await self.call("GET", "/open-apis/bot/v3/info"), "bot")

    async def post(self, place: Place, kind: str, content: Mapping[str, Any], root: str = "") -> dict[str, Any]:
        """Sends a message, in a thread as a reply to its root; tried once more if the connection breaks.

        Feishu sends a message with the same `uuid` once.
        """
        body: dict[str, Any] = {"msg_type": kind, "content": to_json(content), "uuid": uuid.uuid4().hex}
        params: dict[str, str] = {}
        if root:
            path, body["reply_in_thread"] = f"{MESSAGES}/{quote(root, safe='')}/reply", True
        else:
            path, body["receive_id"] = MESSAGES, place.thread or place.chat
            params["receive_id_type"] = "thread_id" if place.thread else "open_id" if place.kind == "dm" else "chat_id"
        try:
            page = await self.call("POST", path, params=params, json=body)
        except PlatformDown:
            page = await self.call("POST", path, params=params, json=body)
        data = read_object(page, "data")
        if not read_text(data, "message_id"):
            raise SendRefused("Feishu answers without a message.", kind="unknown")
        return data

    async def fetch_resource(self, message: str, key: str, kind: str) -> tuple[bytes, str]:
        """The bytes of a file in a message, and their media type."""
        path = f"{MESSAGES}/{quote(message, safe='')}/resources/{quote(key, safe='')}"

        def read(reply: httpx2.Response) -> tuple[bytes, str]:
            served = reply.headers.get("content-type", "").partition(";")[0]
            if not reply.is_success or (served == "application/json" and read_code(parse_body(reply), "code")):
                self.check(reply)
                raise SendRefused(f"Feishu says: {reply.status_code}.", kind="unknown")
            return reply.content, served or "application/octet-stream"

        return await self.request("GET", path, read, params={"type": kind})

    async def upload(self, file: File) -> tuple[str, str]:
        """Uploads a file; gives the name of its key and the key."""
        name, kind = file.name or "file", "image" if file.media_type.startswith("image/") else "file"
        form = {"image_type": "message"} if kind == "image" else {"file_type": "stream", "file_name": name}
        parts = {kind: (name, file.data, file.media_type)}
        page = await self.call("POST", f"/open-apis/im/v1/{kind}s", data=form, files=parts)
        return f"{kind}_key", read_text(read_object(page, "data"), f"{kind}_key")

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        wait = reply.headers.get("x-ogw-ratelimit-reset", "")
        seconds = float(wait) if wait.isdecimal() else None
        if reply.status_code == 429:
            raise SendRefused("Feishu wants fewer messages.", kind="rate_limited", retry_after=seconds)
        return _CODES.check_body(reply, retry_after=seconds, hint=_describe_scopes(parse_body(reply)))


def _describe_scopes(document: object) -> str:
    error = read_object(document, "error")
    names = [read_text(one, "subject") for one in read_objects(error, "permission_violations")]
    return f"Give the app the permission {' or '.join(names)}, and release a version." if names else ""
