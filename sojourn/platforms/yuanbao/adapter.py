"""Yuanbao adapter: private chats and groups with a bot in Tencent's assistant app, over its WebSocket.

What is pushed is acknowledged when it is stored. Whether Yuanbao repeats what was not acknowledged is not known.
"""

from __future__ import annotations

import secrets
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sojourn.core.errors import KeyRefused, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.json_values import read_objects, read_text
from sojourn.platforms.newest_values import NewestValues
from sojourn.platforms.protobuf import encode_values
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.single_connection import SingleConnection
from sojourn.platforms.yuanbao import NAME, YuanbaoSettings, messages
from sojourn.platforms.yuanbao.api import YuanbaoApi
from sojourn.platforms.yuanbao.connection import YuanbaoConnection
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_GROUP_SECONDS = 30 * 86_400.0  # for which a private chat is remembered to have begun in a group
_RUNNING_STATUS = 1  # of an answer that is being written
_MAX_ELEMENTS = 50  # of one message


class Yuanbao:
    """One bot."""

    info = PlatformInfo(name=NAME, label="Yuanbao", max_chars=3000)

    def __init__(self, app: PluginContext) -> None:
        settings: YuanbaoSettings = app.configured(NAME)
        self.info = type(self).info
        self.account, self._api = settings.app_key, YuanbaoApi(settings)
        self._tickets = ReplyTickets(app.store, NAME, self.account)  # groups that private chats began in
        self._line = SingleConnection(lambda: YuanbaoConnection.open(settings.ws_url, self._api))
        self._stickers = NewestValues[str]()  # those that people sent, by what they are called in a text
        self._speakers = NewestValues[str]()  # who wrote last in a group

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            await self._api.token.get()
        return BotProfile(name=self._api.bot_id)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage():
            connection = await self._line.get()
            try:
                while (frame := await connection.pushes.get()) is not None:
                    if (inbound := await self._to_inbound(messages.decode_push(frame.data))) is not None:
                        yield inbound
                    await connection.acknowledge(frame)
            finally:
                await connection.close()
        end = connection.explain_end()
        raise self._line.shut_out(end) if isinstance(end, KeyRefused) else end

    async def _to_inbound(self, document: Mapping[str, Any]) -> Inbound | None:
        inbound = messages.to_inbound(document, self._api.bot_id)
        if inbound is None:
            return None
        if owner := read_text(document, "bot_owner_id"):
            self.info = replace(self.info, owner=owner)
        if group := read_text(document, "private_from_group_code"):
            await self._tickets.save(inbound.place, group, expires_at=time.time() + _GROUP_SECONDS)
        if inbound.place.kind == "group":
            self._speakers[inbound.place.chat] = inbound.sender.id
        elements = read_objects(document, "msg_body")[:_MAX_ELEMENTS]
        for name, data in map(messages.read_sticker, elements):
            if name:
                self._stickers[messages.build_sticker_text(name)] = data
        links = [link for link in map(messages.read_file, elements) if link[0]]
        return await attach_files(inbound, (self._api.download(url, name) for url, name in links))

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """A text that is nothing but the name of a sticker somebody sent goes out as that sticker."""
        check_length(text, self.info)
        sticker = self._stickers.get(text.strip())
        element = messages.build_sticker(sticker) if sticker else messages.build_text(text)
        return await self._post(place, element, reply_to=reply_to)

    async def _post(self, place: Place, element: bytes, *, reply_to: str = "") -> Sent:
        connection, id, number = await self._line.get(), uuid.uuid4().hex, secrets.randbits(31)
        bot = self._api.bot_id
        if place.kind == "group":
            body = encode_values({1: id, 2: place.chat, 3: bot, 5: str(number), 6: [element], 7: reply_to})
            await connection.request("send_group_message", body)
        else:
            ticket = await self._tickets.find(place)
            group = ticket.value if ticket is not None else ""
            body = encode_values({1: id, 2: place.chat, 3: bot, 4: number, 5: [element], 6: group})
            await connection.request("send_c2c_message", body)
        return Sent(place=place, id=id)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """The caption is a message before the file, as in the open plugin."""
        element = messages.build_file(file, await self._api.upload(file))
        if caption:
            await self.send(place, caption)
        return await self._post(place, element)

    async def typing(self, place: Place) -> None:
        with suppress(SendRefused):
            connection, bot = await self._line.get(), self._api.bot_id
            if place.kind == "dm":
                body = encode_values({1: bot, 2: place.chat, 3: _RUNNING_STATUS})
                await connection.request("send_private_heartbeat", body)
            elif speaker := self._speakers.get(place.chat):
                now = int(time.time() * 1000)
                body = encode_values({1: bot, 2: speaker, 3: place.chat, 4: now, 5: _RUNNING_STATUS})
                await connection.request("send_group_heartbeat", body)

    def home(self, chat: str) -> Place:
        return messages.parse_chat(chat.strip())

    async def close(self) -> None:
        await self._line.close()
        await self._api.close()
