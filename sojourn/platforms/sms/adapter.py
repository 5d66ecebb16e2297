"""SMS adapter: text messages through a number at Twilio, which sends us signed forms.

What came while we were away is asked for when listening begins. A signature has no time, so messages are remembered
for ever. Who answers STOP is not written to any more. A file that is sent is offered under an address that nobody can
guess, from where Twilio fetches it.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sojourn.core.errors import BadConfig, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.markdown import render_plain
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.request_checks import RequestRefused
from sojourn.platforms.sms import NAME, SmsSettings, requests
from sojourn.platforms.sms.api import OPTED_OUT_CODE, TwilioApi
from sojourn.platforms.sms.requests import Form, TextMessage, build_place, is_signed, parse_form, read_field
from sojourn.platforms.sms.segments import simplify_characters
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent
from sojourn.ports.store import Record

OPT_OUT_KIND = "sms_opt_out"  # records: who has answered STOP
_MAX_UNITS = 670  # ten segments of any alphabet: more are refused by some carriers
_STORE_TIMEOUT_SECONDS = 12.0  # Twilio waits 15
_OVERLAP_SECONDS = 86_400  # Twilio orders by day
_MAX_FILE_BYTES = 5 * 1024 * 1024
_OFFER_SECONDS = 600.0
_MAX_OFFERS = 20  # files
_URL = re.compile(r"https?://[^/?#\s:]+(?::\d{1,5})?(?:/[^?#\s]*)?")
_EMPTY_ANSWER = RequestAnswer(body=b"<Response/>", media_type="text/xml")

_log = logging.getLogger(__name__)


class Sms:
    """One number, or one messaging service."""

    info = PlatformInfo(name=NAME, label="SMS", max_chars=_MAX_UNITS, counting="utf16")

    def __init__(self, app: PluginContext) -> None:
        self._settings: SmsSettings = app.configured(NAME)
        self.account = self._settings.number or self._settings.messaging_service
        if not self.account or _URL.fullmatch(self._settings.public_url) is None:
            hint = "Set number (or messaging_service) and public_url (https://…) under [plugins.sms]."
            raise BadConfig("sms needs a number and its public address.", hint=hint)
        self._url = self._settings.public_url.rstrip("/")
        self._store, self._api = app.store, TwilioApi(self._settings)
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._offers: dict[str, tuple[File, float]] = {}  # files that Twilio may fetch, and until when
        self._receiver = HttpReceiver(
            app.store, NAME, self._settings, self._read_request, timeout_seconds=_STORE_TIMEOUT_SECONDS
        )

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            return await self._api.fetch_profile()

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage():
            await self._api.fetch_profile()
            cursor = await self._cursors.load_cursor() or await self._cursors.start(int(time.time()))
        async with self._receiver.serve(), aclosing(self._receiver.read_items()) as received:
            async with refusals_as_outage():
                missed = await self._api.list_received(cursor.since(_OVERLAP_SECONDS))
            for message in missed:
                if cursor.contains(message.sid):
                    continue
                if (inbound := await self._to_inbound(message)) is not None:
                    yield inbound
                cursor = await self._cursors.save_cursor(cursor.advance(message.sid, int(message.at)))
            async for message in received:
                if not cursor.contains(message.sid) and (inbound := await self._to_inbound(message)) is not None:
                    yield inbound
                cursor = await self._cursors.save_cursor(cursor.advance(message.sid, int(message.at)))

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[TextMessage]:
        if request.method == "GET":
            return self._offer_file(request.path)
        if request.path not in ("", "status"):
            raise RequestRefused("its address is not the webhook's")
        form = parse_form(request.body)
        address = self._url + (f"/{request.path}" if request.path else "")
        address += f"?{request.raw_query}" if request.raw_query else ""
        if not is_signed(self._settings.auth_token, address, form, request.headers.get("x-twilio-signature", "")):
            raise RequestRefused("its signature does not match auth_token and public_url")
        if read_field(form, "AccountSid") != self._settings.account_sid:
            return _EMPTY_ANSWER
        if request.path == "status":
            return _log_failure(form)
        message = requests.parse_message(form, at=time.time())
        service = self._settings.messaging_service
        is_ours = read_field(form, "MessagingServiceSid" if service else "To") == (service or self._settings.number)
        if message is None or not is_ours:
            return _EMPTY_ANSWER
        return Delivery(items=((message.sid, message),), answer=_EMPTY_ANSWER, is_lasting=True)

    async def _to_inbound(self, message: TextMessage) -> Inbound | None:
        """None for the words by which people stop and start: Twilio answers these."""
        word, key = message.text.strip().upper(), f"{self.account}:{message.number}"
        if message.opt_out == "STOP" or word in requests.STOP_WORDS:
            await self._store.put_record(Record(kind=OPT_OUT_KIND, key=key, value={"at": message.at}))
            return None
        if message.opt_out == "START" or word in requests.START_WORDS or word == "YES":
            await self._store.delete_record(OPT_OUT_KIND, key)
        if message.opt_out or word in requests.CONTROL_WORDS:
            return None
        place, sender = build_place(message.number), Sender(id=message.number)
        inbound = Inbound(id=message.sid, place=place, sender=sender, text=message.text, at=message.at)
        return await attach_files(inbound, (self._api.download(*one) for one in message.files))

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        shown = text if plain else simplify_characters(render_plain(text))
        return await self._send(place, shown if len(shown) <= 1600 else text)

    async def _send(self, place: Place, text: str, media_url: str = "") -> Sent:
        if await self._store.get_record(OPT_OUT_KIND, f"{self.account}:{place.chat}") is not None:
            hint = "The person has answered STOP. Only they can undo it, with START."
            raise SendRefused("The person does not want text messages.", kind="forbidden", hint=hint)
        id = await self._api.send(place.chat, text, status_url=f"{self._url}/status", media_url=media_url)
        return Sent(place=place, id=id)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        if len(file.data) > _MAX_FILE_BYTES:
            raise SendRefused("Twilio takes files of at most 5 MB.", kind="too_long")
        if not self._receiver.is_serving:
            raise SendRefused("Twilio could not fetch the file: we are not listening.", kind="transient")
        now = time.monotonic()
        self._offers = {key: one for key, one in self._offers.items() if one[1] > now}
        if len(self._offers) >= _MAX_OFFERS:
            raise SendRefused("Too many files are being sent.", kind="rate_limited", retry_after=60)
        key = secrets.token_urlsafe(32)
        self._offers[key] = file, now + _OFFER_SECONDS
        return await self._send(place, caption, f"{self._url}/media/{key}")

    def _offer_file(self, path: str) -> RequestAnswer:
        offer = self._offers.get(path.removeprefix("media/")) if path.startswith("media/") else None
        if offer is None or offer[1] < time.monotonic():
            raise RequestRefused("there is no such file")
        return RequestAnswer(body=offer[0].data, media_type=offer[0].media_type)

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()


def _log_failure(form: Form) -> RequestAnswer:
    """Logs a message that was accepted and failed later. Nothing else that a status says is needed."""
    status, code = read_field(form, "MessageStatus"), read_field(form, "ErrorCode")
    if status in ("failed", "undelivered"):
        hint = " The person has answered STOP." if code == str(OPTED_OUT_CODE) else ""
        about = f"https://www.twilio.com/docs/api/errors/{code}" if code.isdecimal() else "no reason given"
        _log.warning("Twilio did not deliver %.40r: %s (%s).%s", read_field(form, "MessageSid"), status, about, hint)
    return _EMPTY_ANSWER
