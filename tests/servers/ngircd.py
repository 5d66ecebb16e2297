"""A real IRC server, ngIRCd, and the test harness of `irc`."""

import asyncio
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Self

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.irc import IrcSettings
from sojourn.platforms.irc.adapter import Irc
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.system_package import require_program
from tests.servers.tcp_proxy import Line

PASSWORD = "door-271828"
_numbers = count(1)


@contextmanager
def ngircd(folder: Path) -> Iterator[int]:
    """The port of a server on which nobody is yet."""
    program = require_program("ngircd", "ngircd")
    port = free_port()
    (folder / "ngircd.conf").write_text(f"""[Global]
Name = irc.example.test
Info = a server for tests
Listen = 127.0.0.1
Ports = {port}
Password = {PASSWORD}
[Limits]
MaxConnectionsIP = 0
MaxNickLength = 30
MaxPenaltyTime = 0
[Options]
DNS = no
Ident = no
PAM = no
""")
    server = subprocess.Popen(
        [program, "-n", "-f", folder / "ngircd.conf"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 20
        while True:
            assert server.poll() is None, "ngircd does not start"
            assert time.monotonic() < deadline, "ngircd does not answer"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port
    finally:
        server.kill()
        server.wait()


class Person:
    """Somebody with an IRC client."""

    def __init__(self, nick: str, port: int, channel: str) -> None:
        self.nick, self._port, self._channel = nick, port, channel
        self.heard: list[tuple[str, str, str]] = []  # by whom, where, what
        self.present: set[str] = set()  # who else is in the channel
        self._changed = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self.say(f"PASS {PASSWORD}", f"NICK {self.nick}", f"USER {self.nick} 0 * :{self.nick}")
        self.say(f"JOIN {self._channel}")
        self._reading = asyncio.create_task(self._read())
        await self.until(lambda: self.nick in self.present)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        self._writer.close()

    def say(self, *lines: str) -> None:
        for line in lines:
            self._writer.write(f"{line}\r\n".encode())

    async def until(self, so: Any) -> None:
        while not so():
            self._changed.clear()
            await self._changed.wait()

    async def settled(self) -> None:
        """Whatever was said before has arrived."""
        mark = f"m{next(_numbers)}"
        self.say(f"PING {mark}")
        await self.until(lambda: mark in self.present)

    async def quit(self) -> None:
        self.say("QUIT")
        await self._reading  # ends when the server has hung up

    async def _read(self) -> None:
        while raw := await self._reader.readline():
            source, command, *given = raw.decode().strip().removeprefix(":").split(" ", 3)
            nick = source.partition("!")[0]
            if source == "PING":
                self.say(f"PONG {command}")
            elif command == "JOIN":
                self.present.add(nick)
            elif command in ("QUIT", "PART"):
                self.present.discard(nick)
            elif command == "PONG":
                self.present.add(given[-1].removeprefix(":"))
            elif command in ("PRIVMSG", "NOTICE"):
                self.heard.append((nick, given[0], " ".join(given[1:]).removeprefix(":")))
            self._changed.set()


class IrcHarness:
    lacks: Mapping[str, str] = {
        "told again": "an IRC server keeps nothing",
        "own messages": "a server does not tell us what we said",
        "bad format": "there is no formatting to get wrong",
        "rate limit": "a server slows us down without a word",
        "forbidden": "tried below, on a channel where only some may speak",
        "files in": "there are no files on IRC",
    }
    threads: Sequence[PlaceKind] = ()
    secret = PASSWORD

    def __init__(self, port: int) -> None:
        mark, self._port = next(_numbers), port
        self.us, self.channel = f"sojourn{mark}", f"#garden{mark}"
        self.ann = Person(f"ann{mark}", port, self.channel)
        self.ben = Person(f"ben{mark}", port, self.channel)
        masks = [f"{one.nick}!~{one.nick}@127.0.0.1" for one in (self.ann, self.ben)]
        self.people = (Sender(id=masks[0], name=self.ann.nick), Sender(id=masks[1], name=self.ben.nick))
        self.chats: Mapping[PlaceKind, str] = {"dm": self.ann.nick, "group": self.channel}
        self._minted, self._written = Counter[str](), 0

    async def __aenter__(self) -> Self:
        self._line = await Line(self._port).__aenter__()
        await self.ann.__aenter__()  # the first one rules the channel
        await self.ben.__aenter__()
        await self.ann.until(lambda: self.ben.nick in self.ann.present)
        self._kit = AdapterKit(self.settings())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._kit.close()
        await self._line.__aexit__()
        await self.ann.__aexit__()
        await self.ben.__aexit__()

    def settings(self, **more: Any) -> IrcSettings:
        about: dict[str, Any] = {
            "server": "127.0.0.1",
            "port": self._line.port,
            "tls": False,
            "nick": self.us,
            "pace_seconds": 0.0,
        }
        given = about | {"channels": (self.channel,), "password": Secret(PASSWORD)} | more
        return IrcSettings(**given)

    def connect(self, **more: Any) -> Irc:
        return Irc(With(self._kit, self.settings(**more)), self._mint)

    def connect_wrongly(self) -> Irc:
        return self.connect(password=Secret("wrong"))

    def _mint(self, kind: str) -> str:
        """The network has no numbers; ours are by chance, here by order."""
        self._minted[kind] += 1
        return f"{kind}-{self._minted[kind]}"

    def our_nicks(self) -> list[str]:
        return [one for one in self.ann.present if one.startswith(self.us)]

    async def until_listening(self) -> None:
        await self.ann.until(self.our_nicks)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        person = self.ann if by.id == self.people[0].id else self.ben
        target = self.channel if place.kind == "group" else self.our_nicks()[0]
        person.say(f"{'NOTICE' if by.is_bot else 'PRIVMSG'} {target} :{text}")
        self._written += not by.is_bot
        return f"heard-{self._written}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        await self.ann.settled()
        ours = [one for one in self.ann.heard if one[0].startswith(self.us)]
        return [
            PostedMessage(id=f"sent-{n}", text=text, by=nick)
            for n, (nick, where, text) in enumerate(ours, 1)
            if where.lower() == place.chat
        ]

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        assert kind == "not_found"
        await self.ann.quit()

    async def drop_connections(self) -> None:
        self._line.drop_connections()
        await self.ann.until(lambda: not self.our_nicks())

    async def break_sending(self) -> None:
        self._line.die()

    async def close(self) -> None: ...
