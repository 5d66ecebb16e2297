"""irc: channels and private chats. No threads, no edits, no files there, so none of these is here.

The network keeps nothing and numbers nothing: what is said while the line is lost is lost, and unless the server
marks messages, the numbers are ours. A name proves nothing either; a person is known by the account they are logged
in to, else by nick!user@host.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from datetime import datetime

from sojourn.core.errors import BadInput, Refusal, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.irc import IrcSettings
from sojourn.platforms.irc.connection import IrcConnection, IrcMessage
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import Inbound, PlatformInfo, Sent

NAME = "irc"
_MAX_BYTES = 350  # bytes: a line has 512, from which the server takes names and addresses
_CHANNEL_PREFIXES = ("#", "&", "+", "!")
_COLOURS = re.compile("\x03(\\d{1,2}(,\\d{1,2})?)?|[\x02\x0f\x11\x16\x1d\x1e\x1f]")


def new_id(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex}"


class Irc:
    """One nick on one network."""

    info = PlatformInfo(name=NAME, label="IRC", max_chars=_MAX_BYTES, counting="bytes", prefix="!")

    def __init__(self, kit: PluginAccess, mint: Callable[[str], str] = new_id) -> None:
        self._settings: IrcSettings = kit.configured(NAME)
        self._mint = mint
        self._line: IrcConnection | None = None
        self._opening = asyncio.Lock()
        self.account = f"{self._settings.nick}@{self._settings.server}:{self._settings.port}"

    async def _connect(self) -> IrcConnection:
        async with self._opening:
            if self._line is None or not self._line.is_open:
                self._line = await IrcConnection(self._settings).open()
            return self._line

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        line = await self._connect()
        while (said := await line.heard.get()) is not None:
            if (heard := self._to_inbound(said, line.nick)) is not None:
                yield heard
        raise line.problem

    def _to_inbound(self, said: IrcMessage, us: str) -> Inbound | None:
        """None for the questions programs ask each other. Robots speak in notices, which are not heard at all."""
        if len(said.params) < 2 or said.nick.lower() == us.lower() or "!" not in said.source:
            return None
        target, text = said.params[0], said.params[1]
        if text.startswith("\x01"):
            if not text.startswith("\x01ACTION "):
                return None
            text = text[8:].rstrip("\x01")
        text = _COLOURS.sub("", text)
        private = not target.startswith(_CHANNEL_PREFIXES)
        called = re.match(rf"{re.escape(us)}[:,]\s*(.*)", text, re.IGNORECASE | re.DOTALL)
        named = re.search(rf"(?<![\w-]){re.escape(us)}(?![\w-])", text, re.IGNORECASE) is not None
        return Inbound(
            id=said.tags.get("msgid") or self._mint("heard"),
            place=place_from_name(said.nick if private else target),
            sender=Sender(id=said.tags.get("account") or said.source, name=said.nick),
            at=_parse_time(said),
            text=called[1] if called else text,
            mentioned=private or named,
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if len(text.encode()) > _MAX_BYTES:
            raise SendRefused(f"{len(text.encode())} bytes are too many for one message.", kind="too_long")
        line = await self._connect()
        troubles = await line.ask([f"PRIVMSG {place.chat} :{one}" for one in text.splitlines() if one.strip()])
        if troubles:
            raise _to_send_refused(troubles[0])
        return Sent(place=place, id=self._mint("sent"))

    def home(self, chat: str) -> Place:
        name = chat.strip()
        if not re.fullmatch(r"[^\s,:\x00-\x1f]{1,60}", name) or ".." in name or name.startswith("/"):
            raise BadInput(f'"{chat}" is neither a channel nor a nick.', hint="Like #garden, or ann.")
        return place_from_name(name)

    async def close(self) -> None:
        if self._line is not None:
            await self._line.close()


def place_from_name(name: str) -> Place:
    """Names are the same in capitals and small letters there."""
    return Place(
        platform=NAME, chat=name.lower(), kind="group" if name.startswith(_CHANNEL_PREFIXES) else "dm", name=name
    )


def _parse_time(said: IrcMessage) -> float:
    told = said.tags.get("time", "")
    try:
        return datetime.fromisoformat(told).timestamp() if told else time.time()
    except ValueError:
        return time.time()


def _to_send_refused(said: IrcMessage) -> SendRefused:
    kind: Refusal = "not_found" if said.command in ("401", "403", "442") else "forbidden"
    return SendRefused(f"The server says: {' '.join(said.params[1:])}.", kind=kind)
