"""A line to an IRC server: registered, kept alive, and asked whether it took what was said."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from sojourn.core.errors import KeyRefused, PlatformDown, SojournError
from sojourn.platforms.irc import IrcSettings

_CAPABILITIES = {"message-tags", "account-tag", "server-time"}
_REPLY_TIMEOUT_SECONDS = 20.0  # for an answer
_PING_AFTER_SECONDS = 120.0  # after that we ask whether the server is there
_BURST_LINES = 4  # lines that may go at once
_ERROR_REPLIES = {"401", "403", "404", "405", "407", "411", "413", "442", "471", "473", "474", "475", "477", "482"}


@dataclass(frozen=True, slots=True)
class IrcMessage:
    """One line of the protocol."""

    tags: Mapping[str, str]
    source: str  # nick!user@host, or a server
    command: str
    params: tuple[str, ...]

    @property
    def nick(self) -> str:
        return self.source.partition("!")[0]


def parse_message(line: str) -> IrcMessage:
    """@tags :source COMMAND a b :the rest"""
    tags, source = dict[str, str](), ""
    if line.startswith("@"):
        shown, _, line = line[1:].partition(" ")
        tags = {key: _unescape_tag(value) for key, _, value in (one.partition("=") for one in shown.split(";"))}
    line = line.lstrip(" ")
    if line.startswith(":"):
        source, _, line = line[1:].partition(" ")
    words, colon, rest = line.partition(" :")
    command, *given = words.split() or [""]
    return IrcMessage(tags, source, command.upper(), (*given, rest) if colon else tuple(given))


def _unescape_tag(value: str) -> str:
    for sign, meant in (("\\:", ";"), ("\\s", " "), ("\\r", "\r"), ("\\n", "\n"), ("\\\\", "\\")):
        value = value.replace(sign, meant)
    return value


class IrcConnection:
    """One connection. What people say is in `heard`; None at its end."""

    def __init__(self, settings: IrcSettings) -> None:
        self._settings = settings
        self.nick = settings.nick
        self.heard: asyncio.Queue[IrcMessage | None] = asyncio.Queue()
        self.problem: SojournError = PlatformDown(f"The line to {settings.server} was lost.")
        self._up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pongs: dict[str, asyncio.Future[None]] = {}
        self._errors: list[IrcMessage] = []
        self._asking = asyncio.Lock()
        self._number = 0

    async def open(self) -> Self:
        have = self._settings
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                self._reader, self._writer = await asyncio.open_connection(
                    have.server, have.port, ssl=ssl.create_default_context() if have.tls else None
                )
        except (OSError, TimeoutError) as error:
            raise PlatformDown(f"{have.server}:{have.port} does not answer: {error}.") from error
        self._reading = asyncio.create_task(self._read())
        if have.password and not have.account:
            self._write(f"PASS {have.password.reveal()}")
        for line in ("CAP LS 302", f"NICK {self.nick}", f"USER {have.nick} 0 * :Sojourn"):
            self._write(line)
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                await self._up
        except TimeoutError as error:
            await self.close()
            raise PlatformDown(f"{have.server} does not let us in.") from error
        except SojournError:
            await self.close()
            raise
        for channel in have.channels:
            self._write(f"JOIN {channel}")
        return self

    @property
    def is_open(self) -> bool:
        return not self._reading.done()

    async def close(self) -> None:
        if self.is_open:
            self._write("QUIT :bye")
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def ask(self, lines: list[str]) -> list[IrcMessage]:
        """Says them and waits until the server has dealt with them. What it complained about."""
        async with self._asking:
            self._errors.clear()
            for n, line in enumerate(lines):
                if n >= _BURST_LINES:
                    await asyncio.sleep(self._settings.pace_seconds)
                self._write(line)
            await self._ping()
            return list(self._errors)

    async def _ping(self) -> None:
        self._number += 1
        token = f"sojourn-{self._number}"
        self._pongs[token] = asyncio.get_running_loop().create_future()
        self._write(f"PING {token}")
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                await self._pongs[token]
        except TimeoutError as error:
            raise PlatformDown(f"{self._settings.server} does not answer any more.") from error
        finally:
            del self._pongs[token]

    def _write(self, line: str) -> None:
        if self._writer.is_closing():
            raise self.problem
        self._writer.write(line.replace("\r", " ").replace("\n", " ").encode() + b"\r\n")

    # what the server says
    async def _read(self) -> None:
        try:
            while True:
                raw = await self._read_line()
                if not raw:
                    break
                self._handle(parse_message(_decode(raw).rstrip("\r\n")))
        except (OSError, TimeoutError, ValueError, SojournError) as error:
            self.problem = error if isinstance(error, SojournError) else self.problem
        finally:
            self._writer.close()
            self.heard.put_nowait(None)
            for waiting in (self._up, *self._pongs.values()):
                if not waiting.done():
                    waiting.set_exception(self.problem)
            if self._up.done() and not self._up.cancelled():
                self._up.exception()  # whoever waits was told

    async def _read_line(self) -> bytes:
        try:
            async with asyncio.timeout(_PING_AFTER_SECONDS):
                return await self._reader.readline()
        except TimeoutError:
            self._write("PING sojourn-there")
        async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
            return await self._reader.readline()

    def _handle(self, said: IrcMessage) -> None:
        match said.command:
            case "PRIVMSG":
                self.heard.put_nowait(said)
            case "PING":
                self._write(f"PONG :{said.params[-1] if said.params else ''}")
            case "PONG":
                waiting = self._pongs.get(said.params[-1] if said.params else "")
                if waiting is not None and not waiting.done():
                    waiting.set_result(None)
            case "NICK" if said.nick == self.nick:
                self.nick = said.params[0]
            case command if command in _ERROR_REPLIES:
                self._errors.append(said)
            case _:
                self._register(said)

    def _register(self, said: IrcMessage) -> None:
        match said.command:
            case "001":
                self.nick = said.params[0]
                if not self._up.done():
                    self._up.set_result(None)
            case "433" | "436" if not self._up.done():  # somebody has that name; ours of a lost line, perhaps
                self.nick += "_"
                self._write(f"NICK {self.nick}")
            case "CAP":
                self._negotiate_capabilities(said)
            case "AUTHENTICATE":
                name = self._settings.account
                login = f"{name}\0{name}\0{self._settings.password.reveal()}".encode()
                self._write(f"AUTHENTICATE {base64.b64encode(login).decode()}")
            case "903":
                self._write("CAP END")
            case "464" | "904" | "905":
                raise self._to_error()
            case "ERROR":
                if "password" in " ".join(said.params).lower():
                    raise self._to_error()
                raise PlatformDown(f"{self._settings.server} hangs up: {' '.join(said.params)}.")

    def _negotiate_capabilities(self, said: IrcMessage) -> None:
        """Takes what helps of what the server offers."""
        answer, offered = said.params[1].upper(), {one.partition("=")[0] for one in said.params[-1].split()}
        logs_in = bool(self._settings.account)
        if answer == "LS":
            if logs_in and "sasl" not in offered:
                raise PlatformDown(
                    f"{self._settings.server} has no accounts to log in to.", hint="Leave out `account`."
                )
            wanted = offered & (_CAPABILITIES | ({"sasl"} if logs_in else set()))
            self._write(f"CAP REQ :{' '.join(sorted(wanted))}" if wanted else "CAP END")
        elif answer == "ACK" and logs_in:
            self._write("AUTHENTICATE PLAIN")
        elif answer in ("ACK", "NAK"):
            self._write("CAP END")

    def _to_error(self) -> KeyRefused:
        return KeyRefused(
            f"{self._settings.server} refuses the password of {self._settings.account or self._settings.nick}.",
            hint="Set SOJOURN_IRC_PASSWORD, and `account` under [plugins.irc] if it belongs to an account.",
        )


def _decode(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")  # as old clients write
