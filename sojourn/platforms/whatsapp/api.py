"""WhatsApp's Graph API: messages, media, and what its error codes mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx2

from sojourn.core.errors import KeyRefused, SendRefused
from sojourn.platforms.downloads import VendorDownloads
from sojourn.platforms.json_values import parse_body, read_object, read_objects, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes, read_code
from sojourn.platforms.whatsapp import TOKEN_VARIABLE, WhatsappSettings
from sojourn.ports.platform import BotProfile, File

WINDOW_CODE = 131047  # more than 24 hours since the person wrote
WINDOW_HINT = (
    "WhatsApp lets a business speak freely for 24 hours after a person wrote. "
    "Ask them to write, or set `template` under [plugins.whatsapp]."
)
_MEDIA_HOSTS = ("fbsbx.com", "fbcdn.net", "whatsapp.net")
_TOKEN_HOSTS = ("lookaside.fbsbx.com",)  # where media are, and the token is demanded
_LENGTH_CODE = 100  # a parameter is wrong, the length of a text included
_CODES = ResultCodes(
    label="WhatsApp",
    key=TOKEN_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={
        "forbidden": (
            3,
            10,
            *range(200, 300),
            368,
            130472,
            130497,
            131021,
            131026,
            131030,
            131031,
            WINDOW_CODE,
            131049,
        ),
        "rate_limited": (4, 80007, 130429, 131048, 131056, 133016),
        "not_found": (33,),
        "bad_format": (_LENGTH_CODE, 131008, 131009, 131051, 131052, 131053, *range(132000, 133000)),
        "transient": (1, 2, 131000, 131016),
    },
    hints={
        WINDOW_CODE: WINDOW_HINT,
        131030: "Add the number to the test recipients under WhatsApp, API Setup.",
        131026: "The number has no WhatsApp, or its owner has not accepted the new terms.",
        131049: "WhatsApp limits templates to this person for now; wait until they write.",
        131031: "Meta has locked the account; see business.facebook.com.",
    },
    key_codes=frozenset({0, 190}),
    good_codes=frozenset(),
)


class WhatsappApi:
    """One business number."""

    def __init__(self, settings: WhatsappSettings) -> None:
        token, self._version = settings.access_token.reveal(), settings.api_version
        self._number = f"/{self._version}/{quote(settings.phone_number_id, safe='')}"
        self._http = RestClient("WhatsApp", settings.base_url, key=TOKEN_VARIABLE, token=token)
        self._downloads = VendorDownloads(
            "WhatsApp",
            _MEDIA_HOSTS,
            origin=settings.base_url,
            authorization=f"Bearer {token}",
            authorized_hosts=_TOKEN_HOSTS,
        )

    async def fetch_profile(self) -> BotProfile:
        """KeyRefused if the token is wrong, or may not use this number."""
        try:
            fields = {"fields": "verified_name,display_phone_number"}
            page = _check(await self._http.exchange("GET", self._number, params=fields))
        except SendRefused as error:
            if error.kind not in ("forbidden", "not_found", "bad_format"):
                raise
            hint = (
                f"Correct phone_number_id, or give the token of {TOKEN_VARIABLE} the right whatsapp_business_messaging."
            )
            raise KeyRefused(f"The token may not use this number. {error}", hint=hint) from error
        number = read_text(page, "display_phone_number")
        digits = "".join(filter(str.isdecimal, number))
        address = f"https://wa.me/{digits}"
        name = read_text(page, "verified_name") or number
        return BotProfile(name=name, address=address, start_link=address + "?text={code}")

    async def send(self, body: Mapping[str, Any]) -> str:
        """Sends a message; gives its id. SendRefused, KeyRefused, PlatformDown."""
        page = await self._post("messages", json={"messaging_product": "whatsapp", **body})
        id = next((read_text(one, "id") for one in read_objects(page, "messages")), "")
        if not id:
            raise SendRefused("WhatsApp answers without an id.", kind="unknown")
        return id

    async def mark_read(self, id: str) -> None:
        """Marks a message as read and shows for 25 seconds that an answer is being written."""
        typing = {"typing_indicator": {"type": "text"}}
        await self._post(
            "messages", json={"messaging_product": "whatsapp", "status": "read", "message_id": id, **typing}
        )

    async def upload(self, file: File) -> str:
        """Uploads a file; gives what a message names it by."""
        form = {"messaging_product": "whatsapp", "type": file.media_type}
        files = {"file": (file.name or "file", file.data, file.media_type)}
        id = read_text(await self._post("media", data=form, files=files), "id")
        if not id:
            raise SendRefused("WhatsApp did not accept the file.", kind="unknown")
        return id

    async def download(self, id: str, *, name: str) -> File:
        """Downloads a file that a message names. SendRefused, PlatformDown."""
        page = _check(await self._http.exchange("GET", f"/{self._version}/{quote(id, safe='')}"))
        media_type = read_text(page, "mime_type").partition(";")[0].strip()
        return await self._downloads.fetch(read_text(page, "url"), name=name, media_type=media_type)

    async def _post(self, path: str, **options: Any) -> dict[str, Any]:
        return _check(await self._http.exchange("POST", f"{self._number}/{path}", **options))

    async def close(self) -> None:
        await self._http.close()
        await self._downloads.close()


def _check(reply: httpx2.Response) -> dict[str, Any]:
    error = read_object(parse_body(reply), "error")
    reason = read_reason(error)
    if read_code(error, "code") == _LENGTH_CODE and "length" in reason.lower():
        raise SendRefused(f"WhatsApp says: {reason}.", kind="too_long")
    return _CODES.check_reply(reply, {**error, "message": reason} if error else None)


def read_reason(error: Mapping[str, Any]) -> str:
    """Why something failed, in WhatsApp's words."""
    details = read_text(read_object(error, "error_data"), "details")
    return (details or read_text(error, "message") or read_text(error, "title"))[:200].rstrip(".")
