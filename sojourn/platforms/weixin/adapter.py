"""Weixin adapter: private chats with a bot in the WeChat app, over Tencent's iLink.

A long poll tells what lies behind a cursor, which is saved when everything before it is stored. Each message of a
person brings a context token, which answers need; it is kept as a reply ticket.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.json_values import read_objects, read_text
from sojourn.platforms.newest_values import NewestValues
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.weixin import NAME, WeixinSettings
from sojourn.platforms.weixin.api import WeixinApi, is_refusal
from sojourn.platforms.weixin.media import WeixinMedia
from sojourn.platforms.weixin.messages import build_place, to_inbound
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, File, Inbound, PlatformInfo, Sent

_POLL_SECONDS, _MAX_POLL_SECONDS = 35.0, 120.0
_POLL_MARGIN_SECONDS = 10.0  # an answer may come a little late
_MIN_POLL_SECONDS = 1.0  # for an empty answer, so that a hasty server does not keep us busy
_TOKEN_SECONDS = 30 * 86_400.0  # Weixin refuses a context token long before; when, is not known
_TYPING_TICKET_SECONDS = 3600.0
_TYPING_STATUS = 1  # 2 would end it
_MAX_ITEMS = 50  # of one message
_WINDOW_HINT = "Weixin lets a bot write only for about a day after the person's last message: let them write first."


class Weixin:
    """One bot."""

    info = PlatformInfo(name=NAME, label="Weixin", max_chars=2000)

    def __init__(self, app: PluginContext) -> None:
        settings: WeixinSettings = app.configured(NAME)
        self.info = replace(type(self).info, owner=settings.owner_id)
        self.account = settings.account_id or hashlib.sha256(settings.token.reveal().encode()).hexdigest()[:16]
        self._api = WeixinApi(settings)
        self._media = WeixinMedia(settings, self._api)
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._tickets = ReplyTickets(app.store, NAME, self.account)
        self._typing_tickets = NewestValues[tuple[str, float]]()  # by person, with the time it was fetched
        self._refused = NewestValues[bool]()  # chats whose last message Weixin refused

    async def identify(self) -> BotProfile:
        """Weixin does not tell a bot its name; an empty poll shows whether the token is good."""
        try:
            await self._api.call("getconfig", {"ilink_user_id": self.info.owner, "context_token": ""})
        except SendRefused as error:  # the token is good: what is refused is the person
            if error.kind == "transient":
                raise PlatformDown(str(error)) from error
        return BotProfile(name="the bot you added in WeChat", address=self.account)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage():
            cursor, seconds = read_text(await self._cursors.load(), "cursor"), _POLL_SECONDS
            with suppress(SendRefused):  # a courtesy
                await self._api.call("msg/notifystart", {})
            while True:
                began = time.monotonic()
                page = await self._api.poll(cursor, seconds=seconds + _POLL_MARGIN_SECONDS)
                messages = read_objects(page, "msgs")
                for message in messages:
                    if (inbound := await self._to_inbound(message)) is not None:
                        yield inbound
                if (behind := read_text(page, "get_updates_buf")) and behind != cursor:
                    cursor = behind
                    await self._cursors.save({"cursor": cursor})
                elif not messages:
                    await asyncio.sleep(max(0.0, began + _MIN_POLL_SECONDS - time.monotonic()))
                wait = page.get("longpolling_timeout_ms")
                if isinstance(wait, int) and wait > 0:
                    seconds = min(wait / 1000, _MAX_POLL_SECONDS)

    async def _to_inbound(self, message: Mapping[str, Any]) -> Inbound | None:
        inbound = to_inbound(message)
        if inbound is None:
            return None
        if token := read_text(message, "context_token"):
            await self._tickets.save(inbound.place, token, expires_at=time.time() + _TOKEN_SECONDS)
            self._refused.pop(inbound.place.chat, None)
        items = read_objects(message, "item_list")[:_MAX_ITEMS]
        return await attach_files(inbound, (self._media.fetch(one) for one in items))

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        return await self._post(place, {"type": 1, "text_item": {"text": text}})

    async def _post(self, place: Place, item: Mapping[str, Any]) -> Sent:
        """Sends a message of one item, with the newest context token of the chat."""
        ticket, id = await self._tickets.find(place), f"sojourn-{uuid.uuid4().hex}"
        message: dict[str, Any] = {
            "from_user_id": "",
            "to_user_id": place.chat,
            "client_id": id,
            "message_type": 2,
            "message_state": 2,
            "item_list": [item],
        }
        message |= {"context_token": ticket.value} if ticket is not None else {}
        try:
            await self._api.call("sendmessage", {"msg": message})
        except SendRefused as error:
            raise self._explain_refusal(place, error) from error
        self._refused.pop(place.chat, None)
        return Sent(place=place, id=id)

    def _explain_refusal(self, place: Place, error: SendRefused) -> SendRefused:
        """One code means too many messages, or that the person has been silent for too long. It is taken for the first
        once, so that the gateway tries again, and then for the second."""
        if not is_refusal(error):
            return error
        is_again = place.chat in self._refused
        self._refused[place.chat] = True
        return SendRefused(str(error), kind="forbidden" if is_again else "rate_limited", hint=_WINDOW_HINT)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        """A message has one item there, so the caption is a message before the file."""
        item = await self._media.upload(place.chat, file)
        if caption:
            await self.send(place, caption)
        return await self._post(place, item)

    async def typing(self, place: Place) -> None:
        with suppress(SendRefused, KeyRefused):
            if ticket := await self._find_typing_ticket(place):
                body = {"ilink_user_id": place.chat, "typing_ticket": ticket, "status": _TYPING_STATUS}
                await self._api.call("sendtyping", body)

    async def _find_typing_ticket(self, place: Place) -> str:
        """Weixin gives one for each person; empty if it gives none."""
        kept, at = self._typing_tickets.get(place.chat, ("", 0.0))
        if kept and time.monotonic() - at < _TYPING_TICKET_SECONDS:
            return kept
        ticket = await self._tickets.find(place)
        body = {"ilink_user_id": place.chat, "context_token": ticket.value if ticket is not None else ""}
        fresh = read_text(await self._api.call("getconfig", body), "typing_ticket")
        self._typing_tickets[place.chat] = (fresh, time.monotonic())
        return fresh

    def home(self, chat: str) -> Place:
        return build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()
        await self._media.close()
