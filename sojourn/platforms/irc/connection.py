"""IRC connection: registration, keep-alive, and a check that the server accepted our messages."""

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
_REPLY_TIMEOUT_SECONDS = 20.0
_PING_AFTER_SECONDS = 120.0  # without any line from the server
_BURST_LINES = 4  # without a pause
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
    """Parses `@tags :source COMMAND a b :the rest`."""
    tags, source = dict[str, str](), ""
    if line.startswith("@"):
        raw_tags, _, line = line[1:].partition(" ")
        tags = {key: _unescape_tag(value) for key, _, value in (one.partition("=") for one in raw_tags.split(";"))}
    line = line.lstrip(" ")
    if line.startswith(":"):
        source, _, line = line[1:].partition(" ")
    words, colon, rest = line.partition(" :")
    command, *params = words.split() or [""]
    return IrcMessage(tags, source, command.upper(), (*params, rest) if colon else tuple(params))


def _unescape_tag(value: str) -> str:
    for escaped, char in (("\\:", ";"), ("\\s", " "), ("\\r", "\r"), ("\\n", "\n"), ("\\\\", "\\")):
        value = value.replace(escaped, char)
    return value


class IrcConnection:
    """One connection. `messages` gets the messages of people, and None at its end."""

    def __init__(self, settings: IrcSettings) -> None:
        self._settings = settings
        self.nick = settings.nick
        self.messages: asyncio.Queue[IrcMessage | None] = asyncio.Queue()
        self.problem: SojournError = PlatformDown(f"The connection to {settings.server} was lost.")
        self._registered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._pongs: dict[str, asyncio.Future[None]] = {}
        self._errors: list[IrcMessage] = []
        self._send_lock = asyncio.Lock()
        self._number = 0

    async def open(self) -> Self:
        settings = self._settings
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                self._reader, self._writer = await asyncio.open_connection(
                    settings.server, settings.port, ssl=ssl.create_default_context() if settings.tls else None
                )
        except (OSError, TimeoutError) as error:
            raise PlatformDown(f"{settings.server}:{settings.port} does not answer: {error}.") from error
        self._read_task = asyncio.create_task(self._read())
        if settings.password and not settings.account:
            self._write(f"PASS {settings.password.reveal()}")
        for line in ("CAP LS 302", f"NICK {self.nick}", f"USER {settings.nick} 0 * :Sojourn"):
            self._write(line)
        try:
            async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
                await self._registered
        except TimeoutError as error:
            await self.close()
            raise PlatformDown(f"{settings.server} did not complete the registration.") from error
        except SojournError:
            await self.close()
            raise
        for channel in settings.channels:
            self._write(f"JOIN {channel}")
        return self

    @property
    def is_open(self) -> bool:
        return not self._read_task.done()

    async def close(self) -> None:
        if self.is_open:
            self._write("QUIT :bye")
        self._read_task.cancel()
        await asyncio.gather(self._read_task, return_exceptions=True)
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def send_lines(self, lines: list[str]) -> list[IrcMessage]:
        """Sends lines, waits until the server has processed them, and gives its error replies."""
        async with self._send_lock:
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
            self.messages.put_nowait(None)
            for future in (self._registered, *self._pongs.values()):
                if not future.done():
                    future.set_exception(self.problem)
            if self._registered.done() and not self._registered.cancelled():
                self._registered.exception()  # marks the exception as retrieved

    async def _read_line(self) -> bytes:
        try:
            async with asyncio.timeout(_PING_AFTER_SECONDS):
                return await self._reader.readline()
        except TimeoutError:
            self._write("PING sojourn-there")
        async with asyncio.timeout(_REPLY_TIMEOUT_SECONDS):
            return await self._reader.readline()

    def _handle(self, message: IrcMessage) -> None:
        match message.command:
            case "PRIVMSG":
                self.messages.put_nowait(message)
            case "PING":
                self._write(f"PONG :{message.params[-1] if message.params else ''}")
            case "PONG":
                future = self._pongs.get(message.params[-1] if message.params else "")
                if future is not None and not future.done():
                    future.set_result(None)
            case "NICK" if message.nick == self.nick:
                self.nick = message.params[0]
            case command if command in _ERROR_REPLIES:
                self._errors.append(message)
            case _:
                self._register(message)

    def _register(self, message: IrcMessage) -> None:
        match message.command:
            case "001":
                self.nick = message.params[0]
                if not self._registered.done():
                    self._registered.set_result(None)
            case "433" | "436" if not self._registered.done():  # the nick is in use, perhaps by our lost connection
                self.nick += "_"
                self._write(f"NICK {self.nick}")
            case "CAP":
                self._negotiate_capabilities(message)
            case "AUTHENTICATE":
                name = self._settings.account
                login = f"{name}\0{name}\0{self._settings.password.reveal()}".encode()
                self._write(f"AUTHENTICATE {base64.b64encode(login).decode()}")
            case "903":
                self._write("CAP END")
            case "464" | "904" | "905":
                raise self._to_error()
            case "ERROR":
                if "password" in " ".join(message.params).lower():
                    raise self._to_error()
                raise PlatformDown(f"{self._settings.server} closed the connection: {' '.join(message.params)}.")

    def _negotiate_capabilities(self, message: IrcMessage) -> None:
        """Requests the capabilities we use, of those the server offers."""
        answer, offered = message.params[1].upper(), {one.partition("=")[0] for one in message.params[-1].split()}
        has_account = bool(self._settings.account)
        if answer == "LS":
            if has_account and "sasl" not in offered:
                raise PlatformDown(f"{self._settings.server} does not support SASL.", hint="Remove `account`.")
            wanted = offered & (_CAPABILITIES | ({"sasl"} if has_account else set()))
            self._write(f"CAP REQ :{' '.join(sorted(wanted))}" if wanted else "CAP END")
        elif answer == "ACK" and has_account:
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
        return raw.decode("latin-1")  # from old clients
