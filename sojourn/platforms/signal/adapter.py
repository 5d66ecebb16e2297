"""Signal adapter: private chats and groups of an account that a signal-cli daemon holds.

The daemon does not wait until a message is stored, and repeats none. A person is known by the account's identifier
(ACI): numbers can be hidden, and can change.
"""

from __future__ import annotations

import base64
import binascii
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from sojourn.core.errors import BadConfig, BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.refusals import check_length
from sojourn.platforms.signal import NAME, SignalSettings, envelopes
from sojourn.platforms.signal.daemon import SignalDaemon, find_failures
from sojourn.platforms.signal.envelopes import Envelope, is_group, is_person
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_MAX_FILE_BYTES = 100 * 1024 * 1024
_MAX_RECENT_SENT = 500  # timestamps


class Signal:
    """One account: a number of its own, or a person's, as one more of their devices."""

    # Longer texts travel as a file, which some clients show only in part.
    info = PlatformInfo(name=NAME, label="Signal", max_chars=2000, counting="bytes")

    def __init__(self, app: PluginAccess) -> None:
        self._settings: SignalSettings = app.configured(NAME)
        self.account = self._settings.account.strip().lower()
        if not is_person(self.account):
            hint = "It looks like +491234567, or like the identifier that `signal-cli listAccounts` shows."
            raise BadConfig(f'"{self.account}" is not a Signal account.', hint=hint)
        if self._settings.linked:
            self.info = replace(self.info, owner=self.account)
        self._own = frozenset({self.account})  # spellings of our account
        self._sent: deque[int] = deque(maxlen=_MAX_RECENT_SENT)
        self._daemon = SignalDaemon(replace(self._settings, account=self.account))

    async def identify(self) -> BotProfile:
        await self._find_own()
        return BotProfile(name=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        await self._find_own()
        async with aclosing(self._daemon.events()) as events:
            async for document in events:
                envelope = envelopes.parse_envelope(document, own=self._own)
                if envelope is not None and self._is_heard(envelope):
                    yield await self._to_inbound(envelope)

    async def _find_own(self) -> None:
        """Asks for the other spelling of our account: mentions name the identifier, settings mostly the number."""
        try:
            found = await self._daemon.call("getUserStatus", recipient=[self.account])
        except SendRefused:  # mentions by identifier are then not understood
            return
        for one in found if isinstance(found, list) else ():
            if isinstance(one, dict) and one.get("isRegistered"):
                self._own |= {str(one[key]).lower() for key in ("uuid", "number") if one.get(key)}

    def _is_heard(self, envelope: Envelope) -> bool:
        """Of a person's own account only what they note to themselves; of ours, what others write."""
        is_own = bool({envelope.author, envelope.number} & self._own)
        if self._settings.linked:
            is_note = bool(envelope.to & self._own) and not envelope.group
            return is_own and is_note and envelope.timestamp not in self._sent
        return not is_own and not envelope.to

    async def _to_inbound(self, envelope: Envelope) -> Inbound:
        place = self._place(envelope.group or self._name(envelope.author), envelope.group_name or envelope.name)
        is_reply = envelope.quoted is not None and envelope.quoted[0] in self._own
        inbound = Inbound(
            id=self._build_id(envelope.author, envelope.timestamp),
            place=place,
            sender=Sender(id=self._name(envelope.author), name=envelope.name),
            text=envelope.text,
            at=envelope.timestamp / 1000,
            reply_to=self._build_id(*envelope.quoted) if envelope.quoted else "",
            mentioned=not envelope.group or is_reply or bool(envelope.mentions & self._own),
        )
        names = [str(one.get("filename") or one["id"]) for one in envelope.attachments]
        fetches = (self._fetch_file(*one, place) for one in zip(envelope.attachments, names, strict=True))
        return await attach_files(inbound, fetches, names) or inbound

    async def _fetch_file(self, attachment: Mapping[str, Any], name: str, place: Place) -> File:
        size = attachment.get("size")
        if isinstance(size, int) and size > _MAX_FILE_BYTES:
            raise SendRefused("It is larger than 100 MB.", kind="too_long")
        result = await self._daemon.call("getAttachment", id=attachment["id"], **_address(place))
        try:
            data = base64.b64decode(result["data"], validate=True)
        except (TypeError, KeyError, binascii.Error, ValueError) as error:
            raise SendRefused("The daemon gave no file.", kind="not_found") from error
        kind = str(attachment.get("contentType") or "application/octet-stream")
        return File(name=name, media_type=kind, data=data)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        quoted: dict[str, Any] = {}
        if reply_to:
            author, timestamp = self._parse_id(reply_to)
            quoted = {"quoteTimestamp": timestamp, "quoteAuthor": author, "quoteMessage": ""}
        return await self._post(place, **self._build_text(text, plain=plain), **quoted)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        change = {"editTimestamp": self._parse_id(sent.id)[1]}
        await self._post(sent.place, **self._build_text(text, plain=plain), **change)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        data = base64.b64encode(file.data).decode()
        uri = f"data:{file.media_type};filename={quote(file.name, safe=' .-_')};base64,{data}"
        return await self._post(place, message=caption, attachments=[uri])

    async def typing(self, place: Place) -> None:
        await self._daemon.call("sendTyping", **_address(place))

    async def react(self, sent: Sent, sign: str) -> None:
        author, timestamp = self._parse_id(sent.id)
        target = {"targetAuthor": author, "targetTimestamp": timestamp}
        await self._daemon.call("sendReaction", emoji=sign, **target, **_address(sent.place))

    @staticmethod
    def _build_text(text: str, *, plain: bool) -> dict[str, Any]:
        message, ranges = (text, []) if plain else envelopes.render_ranges(text)
        return {"message": message, **({"textStyle": ranges} if ranges else {})}

    async def _post(self, place: Place, **params: Any) -> Sent:
        result = await self._daemon.call("send", **params, **_address(place))
        for failure in find_failures(result):
            raise failure
        timestamp = result.get("timestamp") if isinstance(result, dict) else None
        if not isinstance(timestamp, int):
            raise SendRefused("The daemon did not say when the message was sent.", kind="unknown")
        self._sent.append(timestamp)
        return Sent(place=place, id=self._build_id(self.account, timestamp))

    def _name(self, author: str) -> str:
        """One spelling for our own account."""
        return self.account if author in self._own else author

    def _build_id(self, author: str, timestamp: int) -> str:
        """A timestamp is unique only for its author."""
        return f"{self._name(author)}/{timestamp}"

    @staticmethod
    def _parse_id(id: str) -> tuple[str, int]:
        author, _, timestamp = id.partition("/")
        if not is_person(author) or not timestamp.isdecimal():
            raise SendRefused(f"{id!r} is not a message of Signal.", kind="not_found")
        return author, int(timestamp)

    def _place(self, chat: str, name: str = "") -> Place:
        return Place(platform=NAME, chat=chat, kind="group" if is_group(chat) else "dm", name=name)

    def home(self, chat: str) -> Place:
        """A person by identifier (ACI) or number, or a group by its id."""
        name = chat.strip()
        if is_group(name):
            return self._place(envelopes.to_chat(name))
        if not is_person(name.lower()):
            hint = "Write /sethome in the chat, or use an identifier from `signal-cli listContacts` or `listGroups`."
            raise BadInput(f'"{chat}" is not a chat of Signal.', hint=hint)
        return self._place(self._name(name.lower()))

    async def close(self) -> None:
        await self._daemon.close()


def _address(place: Place) -> dict[str, Any]:
    return {"groupId": envelopes.to_group_id(place.chat)} if place.kind == "group" else {"recipient": [place.chat]}
