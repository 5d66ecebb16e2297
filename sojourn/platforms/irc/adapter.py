"""IRC adapter: channels and private chats, without threads, edits and files.

The network stores no messages: those sent while we are disconnected are lost. Message ids are ours unless the server
tags messages. A nick proves no identity; a person is identified by their account, else by nick!user@host.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable

from sojourn.core.errors import BadInput, Refusal, SendRefused
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.irc import IrcSettings
from sojourn.platforms.irc.connection import IrcConnection, IrcMessage
from sojourn.platforms.json_values import parse_date
from sojourn.platforms.nick_calls import read_call
from sojourn.platforms.refusals import check_length
from sojourn.platforms.single_connection import SingleConnection
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import BotProfile, Inbound, PlatformInfo, Sent

NAME = "irc"
_CHANNEL_PREFIXES = ("#", "&", "+", "!")
_COLOURS = re.compile("\x03(\\d{1,2}(,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


def new_id(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


class Irc:
    """One nick on one network."""

    # A line has 512 bytes, of which the server needs some for names and addresses.
    info = PlatformInfo(name=NAME, label="IRC", max_chars=350, counting="bytes", prefix="!")

    def __init__(self, app: PluginAccess, make_id: Callable[[str], str] = new_id) -> None:
        self._settings: IrcSettings = app.configured(NAME)
        self._make_id = make_id
        self._line = SingleConnection(lambda: IrcConnection(self._settings).open())
        self.account = f"{self._settings.nick}@{self._settings.server}:{self._settings.port}"

    async def identify(self) -> BotProfile:
        connection = await self._line.get()
        return BotProfile(name=connection.nick, address=f"{connection.nick} on {self._settings.server}")

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        connection = await self._line.get()
        while (message := await connection.messages.get()) is not None:
            if (inbound := self._to_inbound(message, connection.nick)) is not None:
                yield inbound
        raise connection.problem

    def _to_inbound(self, message: IrcMessage, own_nick: str) -> Inbound | None:
        """Maps a message; None for CTCP requests. Bots write notices, which are not read."""
        if len(message.params) < 2 or message.nick.lower() == own_nick.lower() or "!" not in message.source:
            return None
        target, text = message.params[0], message.params[1]
        if text.startswith("\x01"):
            if not text.startswith("\x01ACTION "):
                return None
            text = text[8:].rstrip("\x01")
        text = _COLOURS.sub("", text)
        is_private = not target.startswith(_CHANNEL_PREFIXES)
        text, is_named = read_call(text, own_nick)
        return Inbound(
            id=message.tags.get("msgid") or self._make_id("heard"),
            place=place_from_name(message.nick if is_private else target),
            sender=Sender(id=message.tags.get("account") or message.source, name=message.nick),
            at=parse_date(message.tags.get("time", "")) or time.time(),
            text=text,
            mentioned=is_private or is_named,
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        check_length(text, self.info)
        connection = await self._line.get()
        lines = [f"PRIVMSG {place.chat} :{one}" for one in text.splitlines() if one.strip()]
        errors = await connection.send_lines(lines)
        if errors:
            raise _to_send_refused(errors[0])
        return Sent(place=place, id=self._make_id("sent"))

    def home(self, chat: str) -> Place:
        name = chat.strip()
        if not re.fullmatch(r"[^\s,:\x00-\x1f]{1,60}", name) or ".." in name or name.startswith("/"):
            raise BadInput(f'"{chat}" is neither a channel nor a nick.', hint="Use a name like #garden or ann.")
        return place_from_name(name)

    async def close(self) -> None:
        await self._line.close()


def place_from_name(name: str) -> Place:
    """Builds a place; names are case-insensitive."""
    kind: PlaceKind = "group" if name.startswith(_CHANNEL_PREFIXES) else "dm"
    return Place(platform=NAME, chat=name.lower(), kind=kind, name=name)


def _to_send_refused(message: IrcMessage) -> SendRefused:
    kind: Refusal = "not_found" if message.command in ("401", "403", "442") else "forbidden"
    return SendRefused(f"The server says: {' '.join(message.params[1:])}.", kind=kind)
