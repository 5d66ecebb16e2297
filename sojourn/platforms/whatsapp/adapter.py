"""WhatsApp adapter: a business number on Meta's Cloud API, which sends us signed requests.

A person may be answered freely for 24 hours after their last message: that right is kept as a reply ticket. Later only
an approved template can be sent. Buttons stay, because a business cannot edit what it sent. A person is known by the
number; who hides it, by the id that WhatsApp gives instead, and by the number again if it was ever seen.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from sojourn.core.errors import SendRefused
from sojourn.core.places import Place
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.json_values import read_objects, read_text
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.request_checks import RequestRefused, compute_hub_signature, is_equal, parse_request_json
from sojourn.platforms.result_codes import read_code
from sojourn.platforms.whatsapp import NAME, WhatsappSettings, messages
from sojourn.platforms.whatsapp.api import WINDOW_CODE, WINDOW_HINT, WhatsappApi, read_reason
from sojourn.platforms.whatsapp.messages import WhatsappMessage, build_place, build_text
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent
from sojourn.ports.store import Record
from sojourn.text.redaction import Identifier

PERSON_KIND = "whatsapp_person"  # records: the number of a person who hides it now
_WINDOW_SECONDS = 86_400.0
_MAX_AGE_SECONDS = 10 * 86_400.0  # WhatsApp sends again for 7 days; older requests are repeated by somebody else
_STORE_TIMEOUT_SECONDS = 15.0
_MAX_BODY_BYTES = 3 * 1024 * 1024

_log = logging.getLogger(__name__)


class Whatsapp:
    """One business number."""

    info = PlatformInfo(name=NAME, label="WhatsApp", max_chars=messages.MAX_CHARS)

    def __init__(self, app: PluginContext) -> None:
        self._settings: WhatsappSettings = app.configured(NAME)
        self.account = self._settings.phone_number_id
        self._store, self._api = app.store, WhatsappApi(self._settings)
        self._tickets = ReplyTickets(app.store, NAME, self.account)
        limits: dict[str, Any] = {"timeout_seconds": _STORE_TIMEOUT_SECONDS, "max_body_bytes": _MAX_BODY_BYTES}
        self._receiver = HttpReceiver(app.store, NAME, self._settings, self._read_request, **limits)

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            return await self._api.fetch_profile()

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self.identify()  # a wrong token would be noticed only by the first answer
        async with aclosing(self._receiver.receive()) as received:
            async for message in received:
                if (inbound := await self._to_inbound(message)) is not None:
                    yield inbound

    async def _read_request(self, request: IncomingRequest) -> RequestAnswer | Delivery[WhatsappMessage]:
        if request.path:
            raise RequestRefused("its address is not the webhook's")
        if request.method == "GET":
            return self._answer_check(request.query)
        expected = compute_hub_signature(self._settings.app_secret, request.body)
        if not is_equal(request.headers.get("x-hub-signature-256", ""), expected):
            raise RequestRefused("its signature does not match app_secret")
        found = list[WhatsappMessage]()
        for value in messages.read_changes(parse_request_json(request.body), self.account):
            found += messages.read_received(value)
            for status in read_objects(value, "statuses"):
                _log_failure(status)
        oldest = time.time() - _MAX_AGE_SECONDS
        return Delivery(items=tuple((one.id, one) for one in found if one.at > oldest))

    def _answer_check(self, query: Mapping[str, str]) -> RequestAnswer:
        """Meta asks for this when the address is entered."""
        is_known = is_equal(query.get("hub.verify_token", ""), self._settings.verify_token.reveal())
        if query.get("hub.mode") != "subscribe" or not is_known:
            raise RequestRefused("its verify token is another one")
        return RequestAnswer(body=query.get("hub.challenge", "").encode()[:1000], media_type="text/plain")

    async def _to_inbound(self, message: WhatsappMessage) -> Inbound | None:
        sender = await self._find_sender(message)
        place = build_place(message.group or sender)
        ends = min(message.at, time.time()) + _WINDOW_SECONDS
        await self._tickets.save(place, message.id, expires_at=ends)
        inbound, media = messages.to_inbound(message, sender), messages.find_media(message.content)
        if inbound is None or media is None:
            return inbound
        return await attach_files(inbound, (self._api.download(id, name=name) for id, name in [media]))

    async def _find_sender(self, message: WhatsappMessage) -> str:
        """The number of a person, also of one who hides it now; else the id that WhatsApp gives."""
        key = f"{self.account}:{message.person}"
        if message.number and message.person:
            await self._store.put_record(
                Record(kind=PERSON_KIND, key=key, value={"number": Identifier(message.number)})
            )
        if message.number:
            return message.number
        known = await self._store.get_record(PERSON_KIND, key)
        return read_text(known.value, "number") or message.person if known is not None else message.person

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        if await self._tickets.find(place) is None:
            return await self._send_template(place, text)
        return await self._send(place, build_text(text, plain=plain), reply_to)

    async def _send(self, place: Place, body: Mapping[str, Any], reply_to: str = "") -> Sent:
        answer = {"context": {"message_id": reply_to}} if reply_to else {}
        return Sent(place=place, id=await self._api.send({**messages.build_recipient(place), **answer, **body}))

    async def _send_template(self, place: Place, text: str) -> Sent:
        """Says something after 24 hours of silence, if there is a template for it."""
        if not self._settings.template:
            raise SendRefused("The person has not written for 24 hours.", kind="forbidden", hint=WINDOW_HINT)
        bodies = messages.build_templates(self._settings.template, self._settings.template_language, text)
        return [await self._send(place, body) for body in bodies][-1]

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        await self._check_window(place)
        shown = build_text(text, plain=plain)["text"]["body"]
        if len(shown) > messages.MAX_QUESTION_CHARS:
            await self.send(place, text, plain=plain, reply_to=reply_to)
            shown, reply_to = "Choose one, please.", ""
        return await self._send(place, messages.build_question(shown, buttons), reply_to)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        await self._check_window(place)
        kind = messages.choose_file_kind(file)
        id = await self._api.upload(file)
        if caption and kind == "audio":
            await self.send(place, caption, plain=True)
        return await self._send(place, messages.build_file(kind, id, name=file.name, caption=caption))

    async def react(self, sent: Sent, sign: str) -> None:
        await self._check_window(sent.place)
        await self._send(sent.place, {"type": "reaction", "reaction": {"message_id": sent.id, "emoji": sign}})

    async def typing(self, place: Place) -> None:
        """Marks the last message as read as well: WhatsApp knows both only together."""
        if (ticket := await self._tickets.find(place)) is not None:
            await self._api.mark_read(ticket.value)

    async def _check_window(self, place: Place) -> None:
        if await self._tickets.find(place) is None:
            raise SendRefused("The person has not written for 24 hours.", kind="forbidden", hint=WINDOW_HINT)

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()


def _log_failure(status: Mapping[str, Any]) -> None:
    """Logs a message that was accepted and failed later; nothing else that a status says is needed."""
    if read_text(status, "status") != "failed":
        return
    for error in read_objects(status, "errors") or [{}]:
        code = read_code(error, "code")
        hint = f" {WINDOW_HINT}" if code == WINDOW_CODE else ""
        _log.warning(
            "WhatsApp did not deliver %.80r: %s %s.%s", read_text(status, "id"), code, read_reason(error), hint
        )
