"""WhatsApp bridge adapter: private chats and groups of a personal account, through a linked device.

The bridge keeps a message until it is acknowledged. A person is known by the identifier that WhatsApp gives them
(@lid) where it is known, else by their number.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.refusals import check_length
from sojourn.platforms.whatsapp_bridge import NAME, WhatsappBridgeSettings
from sojourn.platforms.whatsapp_bridge.bridge import Bridge
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_CHAT = re.compile(r"\A(?:\d{1,40}@(?:s\.whatsapp\.net|lid)|[\d-]{1,60}@g\.us)\Z")
_OURS = "me"  # in place of the sender, in the ids of our own messages


class WhatsappBridge:
    """One account: a person's own, of which only their chat with themselves is read, or a number for Sojourn alone."""

    info = PlatformInfo(name=NAME, label="WhatsApp (bridge)", max_chars=4096)

    def __init__(self, app: PluginAccess) -> None:
        self._settings: WhatsappBridgeSettings = app.configured(NAME)
        self.account = f"the device in {self._settings.folder}"
        self._bridge = Bridge(self._settings)
        self._own: frozenset[str] = frozenset()  # spellings of our account

    async def identify(self) -> BotProfile:
        state = await self._open()
        number = str(state["me"]).partition("@")[0]
        return BotProfile(name=state["name"] or number, address=f"https://wa.me/{number}")

    async def _open(self) -> dict[str, Any]:
        state = await self._bridge.open()
        self._own = frozenset(one for one in (state["me"], state["lid"]) if one)
        if self._settings.linked:
            self.info = replace(self.info, owner=state["lid"] or state["me"])
        return state

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        try:
            await self._open()
            async with aclosing(self._bridge.messages()) as messages:
                async for message in messages:
                    if self._is_heard(message):
                        yield self._to_inbound(message)
        finally:
            await self._bridge.close()  # the next listener is told again what was not acknowledged

    def _is_heard(self, message: Mapping[str, Any]) -> bool:
        """Of a person's own account only what they write to themselves; of ours, what others write."""
        if self._settings.linked:
            return message["from_me"] and message["chat"] in self._own
        return not message["from_me"]

    def _to_inbound(self, message: Mapping[str, Any]) -> Inbound:
        text, found, sender = message["text"], list[File](), message["sender"]
        for one in message["files"]:
            try:
                data = base64.b64decode(one["data"], validate=True)
                found.append(File(name=one["name"], media_type=one["media_type"], data=data))
            except (KeyError, binascii.Error):
                text = f"{text}\n[{one['name']} could not be downloaded: {one.get('problem', 'it is damaged')}]".strip()
        answers_us = message["reply_to_sender"] in self._own
        reply_to = ""
        if message["reply_to"]:
            reply_to = _build_id(message["reply_to"], _OURS if answers_us else message["reply_to_sender"])
        return Inbound(
            id=_build_id(message["id"], sender),
            place=self._place(message["chat"]),
            sender=Sender(id=sender, name=message["name"] or sender),
            text=text,
            files=tuple(found),
            at=float(message["at"]),
            reply_to=reply_to,
            mentioned=not message["is_group"] or answers_us or bool(self._own & set(message["mentions"])),
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        quoted = {"quoted": _parse_id(reply_to)} if reply_to else {}
        return await self._post("send", place, text=text if plain else _to_whatsapp_marks(text), **quoted)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        check_length(text, self.info)
        shown = text if plain else _to_whatsapp_marks(text)
        await self._bridge.call("edit", chat=sent.place.chat, text=shown, **_parse_id(sent.id))

    async def react(self, sent: Sent, sign: str) -> None:
        await self._bridge.call("react", chat=sent.place.chat, sign=sign, **_parse_id(sent.id))

    async def typing(self, place: Place) -> None:
        await self._bridge.call("typing", chat=place.chat)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        data = base64.b64encode(file.data).decode()
        described = {"name": file.name, "media_type": file.media_type, "caption": caption}
        return await self._post("file", place, data=data, **described)

    async def _post(self, call: str, place: Place, **given: Any) -> Sent:
        value = await self._bridge.call(call, chat=place.chat, **given)
        return Sent(place=place, id=_build_id(value["id"], _OURS))

    def _place(self, chat: str) -> Place:
        return Place(platform=NAME, chat=chat, kind="group" if chat.endswith("@g.us") else "dm")

    def home(self, chat: str) -> Place:
        """A number with its country (+49…), or what WhatsApp calls a chat (…@lid, …@g.us)."""
        name = chat.strip()
        if re.fullmatch(r"\+\d{6,15}", name):
            name = f"{name[1:]}@s.whatsapp.net"
        if not _CHAT.fullmatch(name):
            hint = "A person looks like +491234567, a group like 1203…@g.us."
            raise BadInput(f'"{chat}" is not a chat on WhatsApp.', hint=hint)
        return self._place(name)

    async def close(self) -> None:
        await self._bridge.close()


def _build_id(message: str, sender: str) -> str:
    return f"{message}/{sender}"


def _parse_id(id: str) -> dict[str, Any]:
    message, _, sender = id.partition("/")
    return {"message": message, "sender": "" if sender == _OURS else sender, "from_me": sender == _OURS}


def _to_whatsapp_marks(text: str) -> str:
    """Bold and struck text as WhatsApp marks them; the rest of Markdown looks the same there, or stays as it is."""
    text = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"*\1*", text)
    return re.sub(r"~~(?=\S)(.+?)(?<=\S)~~", r"~\1~", text)
