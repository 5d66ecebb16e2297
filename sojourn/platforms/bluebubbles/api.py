"""The HTTP API of BlueBubbles Server. The password stands in the query of every request, so no address is shown."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from sojourn.core.errors import PlatformDown, Refusal, SendRefused
from sojourn.platforms.bluebubbles import PASSWORD_VARIABLE, BluebubblesSettings
from sojourn.platforms.json_values import parse_body, read_object, read_objects, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.ports.platform import File

_KINDS: Mapping[int, Refusal] = {400: "bad_format", 403: "forbidden", 404: "not_found", 413: "too_long"}
_PAGE_ROWS = 100
_MAX_FILE_BYTES = 50 * 1024 * 1024


class BluebubblesApi:
    """One Mac."""

    def __init__(self, settings: BluebubblesSettings) -> None:
        self._http = RestClient("BlueBubbles", settings.server, key=PASSWORD_VARIABLE)
        self._key = {"password": settings.password.reveal()}

    async def fetch_info(self) -> dict[str, Any]:
        """What the server is and can do. KeyRefused."""
        return read_object(await self._call("GET", "server/info"), "data")

    async def find_last_row(self) -> int:
        """The number of the newest message; 0 if there is none."""
        page = await self._call("POST", "message/query", json={"limit": 1, "sort": "DESC"})
        number = next((one.get("originalROWID") for one in read_objects(page, "data")), 0)
        return number if isinstance(number, int) else 0

    async def list_messages(self, after: int) -> list[dict[str, Any]]:
        """The next messages behind a number, in their order."""
        where = [{"statement": "message.ROWID > :n", "args": {"n": after}}]
        body = {"with": ["chat", "attachment", "handle"], "where": where, "sort": "ASC", "limit": _PAGE_ROWS}
        return read_objects(await self._call("POST", "message/query", json=body), "data")

    async def register_webhook(self, url: str, secret: str) -> None:
        """Makes the server call `url` for every new message. Other addresses of ours are removed."""
        known = read_objects(await self._call("GET", "webhook"), "data")
        ours = [one for one in known if read_text(one, "url").endswith(f"/{secret}")]
        for one in ours:
            if read_text(one, "url") != url:
                await self._call("DELETE", f"webhook/{quote(str(one.get('id')), safe='')}")
        if not any(read_text(one, "url") == url for one in ours):
            await self._call("POST", "webhook", json={"url": url, "events": ["new-message"]})

    async def send_text(self, guid: str, text: str, *, is_private: bool, reply_to: str = "") -> str:
        """Sends to a chat that the Mac knows; gives the id of the message."""
        body = _build_body(guid, is_private) | {"message": text}
        body |= {"selectedMessageGuid": reply_to, "partIndex": 0} if reply_to and is_private else {}
        return _read_guid(await self._call("POST", "message/text", json=body))

    async def start_chat(self, address: str, text: str, *, is_private: bool) -> str:
        """Writes to a person for the first time."""
        body = {"addresses": [address], "message": text, "service": "iMessage"}
        body |= {"method": "private-api" if is_private else "apple-script", "tempGuid": _build_temporary()}
        page = await self._call("POST", "chat/new", json=body)
        messages = read_objects(read_object(page, "data"), "messages")
        return next((read_text(one, "guid") for one in messages if read_text(one, "guid")), "") or _read_guid(page)

    async def send_file(self, guid: str, file: File, *, is_private: bool) -> str:
        name = file.name or "file"
        form = {**_build_body(guid, is_private), "name": name}
        page = await self._call(
            "POST", "message/attachment", data=form, files={"attachment": (name, file.data, file.media_type)}
        )
        return _read_guid(page)

    async def react(self, guid: str, message: str, reaction: str) -> None:
        body = {"chatGuid": guid, "selectedMessageGuid": message, "reaction": reaction, "partIndex": 0}
        await self._call("POST", "message/react", json=body)

    async def show_typing(self, guid: str) -> None:
        await self._call("POST", f"chat/{quote(guid, safe='')}/typing")

    async def mark_read(self, guid: str) -> None:
        await self._call("POST", f"chat/{quote(guid, safe='')}/read")

    async def download(self, attachment: Mapping[str, Any]) -> File:
        """A file of a message. SendRefused, PlatformDown."""
        size = attachment.get("totalBytes")
        if isinstance(size, int) and size > _MAX_FILE_BYTES:
            raise SendRefused("The file has more than 50 MB.", kind="too_long")
        path = f"attachment/{quote(read_text(attachment, 'guid'), safe='')}/download"
        reply = await self._exchange("GET", path)
        if not reply.is_success:
            _check(reply)
        served = reply.headers.get("content-type", "").partition(";")[0]
        media_type = read_text(attachment, "mimeType") or served or "application/octet-stream"
        return File(name=read_text(attachment, "transferName") or "file", media_type=media_type, data=reply.content)

    async def _exchange(self, method: str, path: str, **options: Any) -> httpx2.Response:
        reply = await self._http.exchange(method, f"/api/v1/{path}", params=self._key, **options)
        if reply.status_code == 401:
            raise self._http.to_key_refused()
        return reply

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return _check(await self._exchange(method, path, **options))

    async def close(self) -> None:
        await self._http.close()


def _build_temporary() -> str:
    return f"temp-{uuid.uuid4().hex}"


def _build_body(guid: str, is_private: bool) -> dict[str, Any]:
    method = "private-api" if is_private else "apple-script"
    return {"chatGuid": guid, "tempGuid": _build_temporary(), "method": method}


def _read_guid(page: Mapping[str, Any]) -> str:
    guid = read_text(read_object(page, "data"), "guid")
    if not guid:
        raise SendRefused("BlueBubbles answers without a message.", kind="unknown")
    return guid


def _check(reply: httpx2.Response) -> dict[str, Any]:
    page, status = parse_body(reply), reply.status_code
    if reply.is_success and isinstance(page, dict):
        return page
    error = read_object(page, "error")
    reason = f"{read_text(error, 'type')} {read_text(error, 'message')}".strip() or read_text(page, "message")
    text = f"BlueBubbles says: {status} {reason[:200].rstrip('.')}."
    if status == 504:  # it may have been sent
        raise PlatformDown(text)
    is_apples = read_text(error, "type") == "iMessage Error"
    raise SendRefused(text, kind=_KINDS.get(status, "transient" if status >= 500 and not is_apples else "unknown"))
