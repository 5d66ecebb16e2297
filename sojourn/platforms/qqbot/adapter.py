"""QQ adapter: private chats, groups and guild channels with an official bot, over its WebSocket or a webhook.

A connection resumes behind the last stored event, also after a restart. QQ lets a bot only answer: what it answers, and
how often it has, is kept as a reply ticket. Buttons stay, because QQ cannot edit messages.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import quote

from websockets.exceptions import ConnectionClosed

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.downloads import VendorDownloads, attach_files
from sojourn.platforms.json_socket import JsonSocket, open_socket
from sojourn.platforms.json_values import read_object, read_text
from sojourn.platforms.qqbot import NAME, SECRET_VARIABLE, QqbotSettings, messages
from sojourn.platforms.qqbot.api import TICKET_CODES, QqbotApi
from sojourn.platforms.qqbot.messages import build_path, hide_mentions, is_guild
from sojourn.platforms.qqbot.webhook import build_receiver
from sojourn.platforms.refusals import check_length, refusals_as_outage
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.result_codes import read_refused_code
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID_SESSION, _HELLO = 0, 1, 2, 6, 7, 9, 10  # op codes
_INTENTS = 1 << 25 | 1 << 26 | 1 << 30 | 1 << 12  # private chats and groups, buttons, guild channels, guild messages
_MEDIA_HOSTS = ("qq.com", "qq.com.cn", "qpic.cn")
_ANSWERS = 5  # to one message
_PRIVATE_SECONDS, _GROUP_SECONDS = 3600.0, 300.0  # in which a message can be answered
_MIN_HEARTBEAT_SECONDS, _MAX_HEARTBEAT_SECONDS = 1.0, 60.0
_TOKEN_CLOSE_CODE = 4004
_BANNED_CLOSE_CODES = (4914, 4915)
_SESSION_CLOSE_CODES = (4006, 4007, *range(4900, 4914))


class Qqbot:
    """One bot."""

    info = PlatformInfo(name=NAME, label="QQ", max_chars=2000)

    def __init__(self, app: PluginContext) -> None:
        self._settings: QqbotSettings = app.configured(NAME)
        self.account = self._settings.app_id
        self._api = QqbotApi(self._settings)
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._tickets = ReplyTickets(app.store, NAME, self.account)
        self._downloads = VendorDownloads("QQ", _MEDIA_HOSTS, origin=self._settings.base_url)
        self._sequence = 0  # of the last event that is stored
        is_served = self._settings.webhook
        self._receiver = build_receiver(app.store, self._settings, is_wanted=messages.is_message) if is_served else None

    async def identify(self) -> BotProfile:
        async with refusals_as_outage():
            bot = await self._api.call("GET", "/users/@me")
        return BotProfile(name=read_text(bot, "username") or self.account, picture=read_text(bot, "avatar"))

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        listen = self._listen_to_socket if self._receiver is None else self._listen_to_webhook
        async with refusals_as_outage(), aclosing(listen()) as heard:
            async for inbound in heard:
                yield inbound

    async def _listen_to_webhook(self) -> AsyncGenerator[Inbound, None]:
        assert self._receiver is not None
        await self._api.token.get()  # a wrong secret would be noticed only by the first answer
        async with aclosing(self._receiver.receive()) as events:
            async for event in events:
                name, data = read_text(event, "t"), read_object(event, "d")
                if (inbound := await self._to_inbound(name, data)) is not None:
                    yield inbound
                await self._confirm_press(name, data)

    async def _listen_to_socket(self) -> AsyncGenerator[Inbound, None]:
        address = read_text(await self._api.call("GET", "/gateway/bot"), "url")
        if not address.startswith(("ws://", "wss://")):
            raise PlatformDown("QQ gives no address for the connection.")
        async with open_socket("QQ", address) as socket:
            beat_task: asyncio.Task[None] | None = None
            try:
                beat_task = asyncio.create_task(self._beat(socket, await self._sign_in(socket)))
                while True:
                    frame = await socket.receive()
                    await self._check_frame(frame)
                    if frame.get("op") != _DISPATCH:
                        continue
                    data = read_object(frame, "d")
                    if (inbound := await self._to_inbound(read_text(frame, "t"), data)) is not None:
                        yield inbound
                    await self._mark_stored(frame, data)
            except ConnectionClosed as error:
                await self._handle_close(error.rcvd.code if error.rcvd is not None else 0)
                raise
            finally:
                if beat_task is not None:
                    beat_task.cancel()

    async def _sign_in(self, socket: JsonSocket) -> float:
        """Resumes the session, or begins one; gives the seconds between heartbeats."""
        while (hello := await socket.receive()).get("op") != _HELLO:
            pass
        token, saved = f"QQBot {await self._api.token.get()}", await self._cursors.load()
        self._sequence = int(saved.get("sequence", 0))
        if saved.get("session"):
            known = {"token": token, "session_id": saved["session"], "seq": self._sequence}
            await socket.send({"op": _RESUME, "d": known})
        else:
            await socket.send({"op": _IDENTIFY, "d": {"token": token, "intents": _INTENTS, "shard": [0, 1]}})
        interval = read_object(hello, "d").get("heartbeat_interval")
        seconds = interval / 1000 if isinstance(interval, int) else _MAX_HEARTBEAT_SECONDS
        return min(_MAX_HEARTBEAT_SECONDS, max(_MIN_HEARTBEAT_SECONDS, seconds))

    async def _beat(self, socket: JsonSocket, seconds: float) -> None:
        with suppress(ConnectionClosed):
            while True:
                await asyncio.sleep(seconds)
                await socket.send({"op": _HEARTBEAT, "d": self._sequence or None})

    async def _check_frame(self, frame: Mapping[str, Any]) -> None:
        if frame.get("op") == _INVALID_SESSION:
            await self._cursors.save({"session": ""})
            raise PlatformDown("QQ has forgotten the session; a new one begins.")
        if frame.get("op") == _RECONNECT:
            raise PlatformDown("QQ asks for a new connection.")

    async def _mark_stored(self, frame: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """Saves the position behind an event, confirms a press, and keeps a new session."""
        saved, number = await self._cursors.load(), frame.get("s")
        if frame.get("t") == "READY":
            saved["session"] = read_text(data, "session_id")
        if isinstance(number, int) and 0 < number < 2**53:
            self._sequence = saved["sequence"] = number
        await self._cursors.save(saved)
        await self._confirm_press(read_text(frame, "t"), data)

    async def _confirm_press(self, event: str, data: Mapping[str, Any]) -> None:
        if event == "INTERACTION_CREATE" and (id := read_text(data, "id")):
            with suppress(SendRefused):  # the button then shows an error, but the press counts
                await self._api.call("PUT", f"/interactions/{quote(id, safe='')}", json={"code": 0})

    async def _handle_close(self, code: int) -> None:
        if code in _BANNED_CLOSE_CODES:
            hint = f"See the bot's state on q.qq.com; correct {SECRET_VARIABLE} if it is another one."
            raise KeyRefused("QQ does not let the bot connect: it is offline or banned.", hint=hint)
        if code == _TOKEN_CLOSE_CODE:
            self._api.token.discard(await self._api.token.get())
        if code in _SESSION_CLOSE_CODES:
            await self._cursors.save({"session": ""})

    async def _to_inbound(self, event: str, data: Mapping[str, Any]) -> Inbound | None:
        """Maps an event; the same for the WebSocket and for a webhook."""
        if event == "INTERACTION_CREATE":
            return messages.to_press(data)
        if (bare := messages.to_inbound(event, data)) is None:
            return None
        fetch = self._downloads.fetch
        links = (fetch(one.url, name=one.name, media_type=one.media_type) for one in messages.read_files(data))
        if (inbound := await attach_files(bare, links)) is None:
            return None
        seconds = _PRIVATE_SECONDS if inbound.place.kind == "dm" else _GROUP_SECONDS
        began = inbound.at if 0 < inbound.at < time.time() else time.time()
        await self._tickets.save(inbound.place, inbound.id, expires_at=began + seconds, max_uses=_ANSWERS)
        return inbound

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self._post(place, self._build_body(place, text, plain=plain))

    def _build_body(self, place: Place, text: str, *, plain: bool) -> dict[str, Any]:
        check_length(text, self.info)
        text = hide_mentions(text)
        if self._settings.markdown and not plain:
            return {"msg_type": 2, "markdown": {"content": text}}
        return {"content": text} if is_guild(place) else {"msg_type": 0, "content": text}

    async def _post(self, place: Place, body: Mapping[str, Any]) -> Sent:
        """Sends a message, as an answer if there is something to answer; without it if QQ does not know that."""
        path, ticket = f"{build_path(place)}/messages", await self._tickets.take(place)
        answer: dict[str, Any] = {}
        if ticket is not None:
            answer = {"msg_id": ticket.value} | ({} if is_guild(place) else {"msg_seq": ticket.used})
        try:
            page = await self._api.call("POST", path, json={**body, **answer})
        except SendRefused as error:
            if ticket is None or read_refused_code(error) not in TICKET_CODES:
                raise
            await self._tickets.discard(place)
            page = await self._api.call("POST", path, json=body)
        return Sent(place=place, id=read_text(page, "id") or f"audit/{uuid.uuid4().hex}")

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        if is_guild(place):
            raise SendRefused("QQ takes files in private chats and groups only.", kind="forbidden")
        info = await self._api.upload(f"{build_path(place)}/files", file)
        body = {"msg_type": 7, "media": {"file_info": info}, "content": hide_mentions(caption) or " "}
        return await self._post(place, body)

    def home(self, chat: str) -> Place:
        return messages.build_place(chat.strip())

    async def close(self) -> None:
        await self._api.close()
        await self._downloads.close()


class QqbotButtons(Qqbot):
    """A bot that QQ has allowed Markdown, and with it buttons."""

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        check_length(text, self.info)
        question = f"question/{uuid.uuid4().hex}"
        body = {"msg_type": 2, "markdown": {"content": hide_mentions(text)}}
        await self._post(place, {**body, "keyboard": messages.build_keyboard(place, question, buttons)})
        return Sent(place=place, id=question)


def make(app: PluginContext) -> Qqbot:
    settings: QqbotSettings = app.configured(NAME)
    return (QqbotButtons if settings.markdown else Qqbot)(app)
