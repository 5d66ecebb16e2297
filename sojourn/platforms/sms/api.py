"""Twilio's REST API: sending, what came while we were away, and what its error codes mean."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlencode

from sojourn.core.errors import SendRefused
from sojourn.platforms.downloads import VendorDownloads
from sojourn.platforms.json_values import read_objects, read_text
from sojourn.platforms.rest_client import RestClient
from sojourn.platforms.result_codes import ResultCodes
from sojourn.platforms.sms import TOKEN_VARIABLE, SmsSettings
from sojourn.platforms.sms.requests import TextMessage, is_number
from sojourn.ports.platform import BotProfile, File

OPTED_OUT_CODE = 21610
_MEDIA_HOSTS = ("api.twilio.com", "twiliocdn.com", "s3-external-1.amazonaws.com")
_PAGE_ROWS = 100
_MAX_PAGES = 20  # of the list of messages
_CODES = ResultCodes(
    label="Twilio",
    key=TOKEN_VARIABLE,
    code_field="code",
    message_field="message",
    kinds={
        "rate_limited": (20429, 14107),
        "forbidden": (OPTED_OUT_CODE, 21408, 21608, 21606, 21612),
        "not_found": (21211, 21614, 20404),
        "too_long": (21617, 21658),
        "bad_format": (21602, 21619, 21620, 21623),
    },
    hints={
        OPTED_OUT_CODE: "The person has answered STOP. Only they can undo it, with START.",
        21408: "Allow the country: console.twilio.com, Messaging, Settings, Geo permissions.",
        21608: "A trial account writes only to verified numbers: Phone Numbers, Verified Caller IDs.",
        21606: "The number in [plugins.sms] cannot send text messages, or is not this account's.",
    },
    key_codes=frozenset({20003, 20005}),
    good_codes=frozenset(),
)


class TwilioApi:
    """One account."""

    def __init__(self, settings: SmsSettings) -> None:
        self._settings = settings
        self._auth = (settings.account_sid, settings.auth_token.reveal())
        self._account = f"/2010-04-01/Accounts/{quote(settings.account_sid, safe='')}"
        self._http = RestClient("Twilio", settings.base_url, key=TOKEN_VARIABLE)
        basic = base64.b64encode(":".join(self._auth).encode()).decode()
        self._downloads = VendorDownloads(
            "Twilio",
            _MEDIA_HOSTS,
            origin=settings.base_url,
            authorization=f"Basic {basic}",
            authorized_hosts=("api.twilio.com",),
        )

    async def fetch_profile(self) -> BotProfile:
        page = await self._call("GET", f"{self._account}.json")
        address = self._settings.number or self._settings.messaging_service
        return BotProfile(name=read_text(page, "friendly_name") or address, address=address)

    async def send(self, number: str, text: str, *, status_url: str, media_url: str = "") -> str:
        """Sends a message; gives its id. SendRefused, KeyRefused, PlatformDown."""
        service, ours = self._settings.messaging_service, self._settings.number
        form = {"To": number, "MessagingServiceSid": service, "From": "" if service else ours, "Body": text}
        form |= {"MediaUrl": media_url, "StatusCallback": status_url}
        filled = {name: value for name, value in form.items() if value}
        id = read_text(await self._call("POST", f"{self._account}/Messages.json", data=filled), "sid")
        if not id:
            raise SendRefused("Twilio answers without an id.", kind="unknown")
        return id

    async def list_received(self, since: float) -> list[TextMessage]:
        """What came in since then, oldest first."""
        day = datetime.fromtimestamp(since, UTC).date().isoformat()
        query = {"DateSent>": day, "PageSize": str(_PAGE_ROWS), "To": self._settings.number}
        query = {name: value for name, value in query.items() if value}
        found, path = list[TextMessage](), f"{self._account}/Messages.json?{urlencode(query)}"
        for _ in range(_MAX_PAGES):
            page = await self._call("GET", path)
            messages = [await self._to_message(row) for row in read_objects(page, "messages")]
            found += [one for one in messages if one is not None and one.at >= since]
            path = read_text(page, "next_page_uri")
            if not path.startswith(f"{self._account}/"):
                break
        found.reverse()  # Twilio gives the newest first, and its times in whole seconds
        return sorted(found, key=lambda one: one.at)

    async def _to_message(self, row: Mapping[str, Any]) -> TextMessage | None:
        sid, number = read_text(row, "sid"), read_text(row, "from")
        service = self._settings.messaging_service
        is_ours = not service or read_text(row, "messaging_service_sid") == service
        try:
            at = parsedate_to_datetime(read_text(row, "date_sent")).timestamp()
        except ValueError:
            return None
        if read_text(row, "direction") != "inbound" or not is_ours or not is_number(number):
            return None
        files = await self._list_files(sid) if read_text(row, "num_media") not in ("", "0") else []
        return TextMessage(sid=sid, number=number, text=read_text(row, "body"), at=at, files=tuple(files))

    async def _list_files(self, sid: str) -> list[tuple[str, str]]:
        page = await self._call("GET", f"{self._account}/Messages/{quote(sid, safe='')}/Media.json")
        base = self._settings.base_url.rstrip("/")
        return [
            (f"{base}{read_text(one, 'uri').removesuffix('.json')}", read_text(one, "content_type"))
            for one in read_objects(page, "media_list")
        ]

    async def download(self, url: str, media_type: str) -> File:
        """Downloads a file of a message. SendRefused, PlatformDown."""
        return await self._downloads.fetch(url, media_type=media_type)

    async def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        return _CODES.check_reply(await self._http.exchange(method, path, auth=self._auth, **options))

    async def close(self) -> None:
        await self._http.close()
        await self._downloads.close()
