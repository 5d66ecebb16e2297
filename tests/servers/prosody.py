"""A real XMPP server, Prosody, people with a small client of their own, and the test harness of `xmpp`."""

import asyncio
import base64
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import httpx2

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.xmpp import XmppSettings
from sojourn.platforms.xmpp.adapter import Xmpp
from sojourn.platforms.xmpp.stanzas import build_message_id
from sojourn.ports.platform import File
from sojourn.ports.store import Record
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.system_package import require_program
from tests.servers.tcp_proxy import Line

PASSWORD = "door-314159"
DOMAIN = "localhost"
_numbers = count(1)
_SPACES = {
    "c": "jabber:client",
    "mam": "urn:xmpp:mam:2",
    "fwd": "urn:xmpp:forward:0",
    "sid": "urn:xmpp:sid:0",
    "r": "urn:xmpp:reactions:0",
    "fix": "urn:xmpp:message-correct:0",
    "oob": "jabber:x:oob",
    "up": "urn:xmpp:http:upload:0",
}


@dataclass(frozen=True)
class Ports:
    """Where the server is: with and without TLS, and for files."""

    plain: int
    tls: int
    http: int


@contextmanager
def prosody(folder: Path) -> Iterator[Ports]:
    """A server on which nobody is yet. It has an untrusted certificate on one of its ports."""
    control = require_program("prosody", "prosodyctl")  # the server itself would start when asked for its version
    program = Path(control).with_name("prosody")
    ports = Ports(free_port(), free_port(), free_port())
    about = f"-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={DOMAIN} -addext subjectAltName=DNS:{DOMAIN}".split()
    keys = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", *about, *keys], check=True, capture_output=True)
    (folder / "prosody.cfg.lua").write_text(_config(folder, ports))
    with (folder / "out").open("w") as out:
        command = [
            str(program),
            "--config",
            str(folder / "prosody.cfg.lua"),
            "-F",
            *(["--root"] if os.getuid() == 0 else []),
        ]
        server = subprocess.Popen(command, stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 20
        for port in (ports.plain, ports.tls, ports.http):
            while True:
                assert server.poll() is None, (folder / "out").read_text()[-2000:]
                assert time.monotonic() < deadline, "prosody does not answer: " + (folder / "out").read_text()[-2000:]
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.05)
        yield ports
    finally:
        server.kill()
        server.wait()


def _config(folder: Path, ports: Ports) -> str:
    return f"""
data_path = "{folder}/data"
pidfile = "{folder}/pid"
log = {{ warn = "*console" }}
modules_enabled = {{ "roster", "saslauth", "disco", "ping", "register_ibr", "mam", "user_account_management", "tls" }}
modules_disabled = {{ "s2s", "admin_shell" }}
run_as_root = true
allow_registration = true
authentication = "internal_plain"
c2s_interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {ports.plain} }}
c2s_direct_tls_ports = {{ {ports.tls} }}
c2s_direct_tls_interfaces = {{ "127.0.0.1" }}
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
ssl = {{ key = "{folder}/key.pem", certificate = "{folder}/cert.pem" }}
http_interfaces = {{ "127.0.0.1" }}
http_ports = {{ {ports.http} }}
https_ports = {{ }}
http_default_host = "upload.{DOMAIN}"
archive_expires_after = "never"
default_archive_policy = true
storage = "internal"
VirtualHost "{DOMAIN}"
Component "rooms.{DOMAIN}" "muc"
    modules_enabled = {{ "muc_mam" }}
    muc_room_locking = false
    muc_room_default_public_jids = true
    muc_log_by_default = true
    restrict_room_creation = false
Component "upload.{DOMAIN}" "http_file_share"
    http_external_url = "http://127.0.0.1:{ports.http}/"
"""


class XmppPerson:
    """Somebody with an XMPP client that shares no code with the adapter's."""

    def __init__(self, name: str, port: int, resource: str = "phone") -> None:
        self.name, self.jid, self._port, self._resource = name, f"{name}@{DOMAIN}", port, resource
        self.stanzas: list[ElementTree.Element] = []
        self._changed, self._ids = asyncio.Event(), count(1)
        self._parser: ElementTree.XMLPullParser
        self._depth = 0

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._start()
        self._task = asyncio.create_task(self._read())
        await self.until(lambda one: one.tag.endswith("features"))
        if self._resource == "phone":
            fields = f"<username>{self.name}</username><password>{PASSWORD}</password>"
            await self.ask("set", f"<query xmlns='jabber:iq:register'>{fields}</query>")
        login = base64.b64encode(f"\0{self.name}\0{PASSWORD}".encode()).decode()
        self.say(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{login}</auth>")
        await self.until(lambda one: one.tag.endswith("success"))
        self.stanzas.clear()
        self._start()
        await self.until(lambda one: one.tag.endswith("features"))
        bind = f"<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>{self._resource}</resource></bind>"
        await self.ask("set", bind)
        if self._resource == "phone":
            self.say("<presence/>")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    def _start(self) -> None:
        self._parser, self._depth = ElementTree.XMLPullParser(("start", "end")), 0
        spaces = "xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'"
        self.say(f"<?xml version='1.0'?><stream:stream to='{DOMAIN}' version='1.0' {spaces}>")

    def say(self, xml: str) -> None:
        self._writer.write(xml.encode())

    async def _read(self) -> None:
        while said := await self._reader.read(65536):
            parser = self._parser
            parser.feed(said)
            events: Any = parser.read_events()
            for event, element in events:
                self._depth += 1 if event == "start" else -1
                if event == "end" and self._depth == 1:
                    self.stanzas.append(element)
                    self._changed.set()
                    await asyncio.sleep(0)  # whoever waits may start a new stream
                    if parser is not self._parser:
                        break

    async def until(self, wanted: Callable[[ElementTree.Element], Any], seconds: float = 10) -> ElementTree.Element:
        async with asyncio.timeout(seconds):
            while not (found := [one for one in self.stanzas if wanted(one)]):
                self._changed.clear()
                await self._changed.wait()
        return found[0]

    async def until_cut_off(self) -> None:
        async with asyncio.timeout(10):
            await asyncio.wait({self._task})

    async def ask(self, kind: str, query: str, to: str = "") -> ElementTree.Element:
        id = f"q{next(self._ids)}"
        self.say(f"<iq type='{kind}' id='{id}'" + (f" to='{to}'" if to else "") + f">{query}</iq>")
        answer = await self.until(lambda one: one.tag.endswith("iq") and one.get("id") == id)
        assert answer.get("type") == "result", ElementTree.tostring(answer)
        return answer

    async def read_archive(self, archive: str = "") -> list[tuple[str, ElementTree.Element]]:
        """The id and the message of everything in an archive."""
        number = f"a{next(self._ids)}"
        page = "<set xmlns='http://jabber.org/protocol/rsm'><max>500</max></set>"
        await self.ask("set", f"<query xmlns='urn:xmpp:mam:2' queryid='{number}'>{page}</query>", archive)
        results = [one.find("mam:result", _SPACES) for one in self.stanzas]
        found = [one for one in results if one is not None and one.get("queryid") == number]
        messages = [(one.get("id", ""), one.find("fwd:forwarded/c:message", _SPACES)) for one in found]
        return [(id, message) for id, message in messages if message is not None]

    async def enter(self, room: str) -> None:
        self.say(f"<presence to='{room}/{self.name}'><x xmlns='http://jabber.org/protocol/muc'/></presence>")
        await self.until(lambda one: one.tag.endswith("presence") and one.get("from") == f"{room}/{self.name}")


class XmppHarness:
    lacks: Mapping[str, str] = {
        "other bots": "a server does not say who is a bot",
        "bad format": "there is no formatting to get wrong",
        "rate limit": "the server slows us down without a word",
    }
    threads: Sequence[PlaceKind] = ()
    secret = PASSWORD

    def __init__(self, ports: Ports, first: PlaceKind) -> None:
        mark, self.ports = next(_numbers), ports
        self.us, self.room = f"sojourn{mark}@{DOMAIN}", f"garden{mark}@rooms.{DOMAIN}"
        self.ann, self.ben = (XmppPerson(f"{name}{mark}", ports.plain) for name in ("ann", "ben"))
        self._owner = XmppPerson(f"sojourn{mark}", ports.plain)  # makes our account, and leaves
        self.reader = XmppPerson(f"sojourn{mark}", ports.plain, "reader")  # without presence it is told nothing
        self.people = (Sender(id=self.ann.jid, name=self.ann.name), Sender(id=self.ben.jid, name=self.ben.name))
        chats: dict[PlaceKind, str] = {"dm": self.ann.jid, "group": self.room}
        self.chats: Mapping[PlaceKind, str] = dict(sorted(chats.items(), key=lambda one: one[0] != first))
        if first == "dm":
            self.lacks = {**self.lacks, "forbidden": "tried in a room; a person who blocks us looks like nobody"}
            self.lacks = {**self.lacks, "own messages": "a server does not tell us what we said in private"}

    async def __aenter__(self) -> Self:
        self.line = await Line(self.ports.plain).__aenter__()
        async with self._owner:
            pass
        for one in (self.ann, self.ben, self.reader):
            await one.__aenter__()
        await self.ann.enter(self.room)  # the first one rules the room
        await self.configure(whois="anyone")
        await self.ben.enter(self.room)
        self._kit = AdapterKit(self.settings())
        self.made: list[Xmpp] = []
        self.archives = 2  # our account's and the room's
        return self

    async def __aexit__(self, *_: object) -> None:
        for adapter in self.made:
            await adapter.close()
        await self._kit.close()
        await self.line.__aexit__()
        for one in (self.ann, self.ben, self.reader):
            await one.__aexit__()

    async def configure(self, **fields: str) -> None:
        """Sets properties of the room."""
        fields = {"persistentroom": "1", "whois": "anyone"} | fields
        values = "".join(f"<field var='muc#roomconfig_{k}'><value>{v}</value></field>" for k, v in fields.items())
        form = "<field var='FORM_TYPE'><value>http://jabber.org/protocol/muc#roomconfig</value></field>" + values
        query = f"<x xmlns='jabber:x:data' type='submit'>{form}</x>"
        await self.ann.ask("set", f"<query xmlns='http://jabber.org/protocol/muc#owner'>{query}</query>", self.room)

    def settings(self, **more: Any) -> XmppSettings:
        given: dict[str, Any] = {
            "jid": self.us,
            "password": Secret(PASSWORD),
            "host": "127.0.0.1",
            "port": self.line.port,
            "tls": False,
            "rooms": (self.room,),
            "file_hosts": ("127.0.0.1",),
        }
        return XmppSettings(**given | more)

    def connect(self, **more: Any) -> Xmpp:
        self.made.append(Xmpp(With(self._kit, self.settings(**more))))
        return self.made[-1]

    def connect_wrongly(self) -> Xmpp:
        return self.connect(password=Secret("wrong"))

    async def until_listening(self) -> None:
        """Asked for the ends of its archives, the adapter has a position in each."""
        if self.archives > 1:
            us = f"{self.room}/sojourn"
            await self.ann.until(lambda one: one.tag.endswith("presence") and one.get("from") == us)
        await self.until_positions(self.archives)

    async def until_positions(self, number: int) -> None:
        while len((await self.position()).get("archives", {})) < number:
            await asyncio.sleep(0.01)

    async def position(self) -> Mapping[str, Any]:
        """How far our account has read."""
        record = await self._kit.store.get_record("platform_position", f"xmpp:{self.us}")
        return record.value if record is not None else {}

    async def move_position(self, id: str, at: float) -> None:
        """Sets how far our account has read."""
        archives = {**(await self.position())["archives"], self.us: [id, at]}
        value = {"archives": archives, "rooms": []}
        await self._kit.store.put_record(Record(kind="platform_position", key=f"xmpp:{self.us}", value=value))

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        person = self.ann if by.id == self.people[0].id else self.ben
        more = ""
        for file in files:
            link = await self._upload(person, file)
            text, more = f"{text}\n{link}", f"<x xmlns='jabber:x:oob'><url>{link}</url></x>"
        if place.kind == "group":
            text = f"sojourn: {text}"
        return await self.post(place, f"<body>{escape(text)}</body>{more}", person)

    async def post(self, place: Place, content: str, person: XmppPerson, id: str = "") -> str:
        """Sends a message; returns the id by which the adapter knows it."""
        is_group = place.kind == "group"
        id = id or f"{person.name}-{next(_numbers)}"
        kind, to = ("groupchat", self.room) if is_group else ("chat", self.us)
        person.say(f"<message type='{kind}' to='{to}' id={quoteattr(id)}>{content}</message>")
        await person.ask("get", "<ping xmlns='urn:xmpp:ping'/>")
        archive = await (self.ann.read_archive(self.room) if is_group else self.reader.read_archive())
        found = [number for number, one in archive if one.get("id") == id]
        return build_message_id(found[-1] if found else "", id)

    async def _upload(self, person: XmppPerson, file: File) -> str:
        about = f"filename='{file.name}' size='{len(file.data)}' content-type='{file.media_type}'"
        slot = await person.ask("get", f"<request xmlns='urn:xmpp:http:upload:0' {about}/>", f"upload.{DOMAIN}")
        put, get = slot.find("up:slot/up:put", _SPACES), slot.find("up:slot/up:get", _SPACES)
        assert put is not None
        assert get is not None
        headers = {one.get("name", ""): one.text or "" for one in put} | {"Content-Type": file.media_type}
        async with httpx2.AsyncClient() as http:
            (await http.put(put.get("url", ""), content=file.data, headers=headers)).raise_for_status()
        return get.get("url", "")

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        is_group = place.kind == "group"
        found: dict[str, PostedMessage] = {}  # by the id that others refer to
        for number, one in await (self.ann.read_archive(self.room) if is_group else self.reader.read_archive()):
            sender, origin = one.get("from", ""), one.get("id", "")
            by = sender.rpartition("/")[2] + f"@{DOMAIN}" if is_group else sender.partition("/")[0]
            if not is_group and place.chat not in (by, one.get("to", "").partition("/")[0]):
                continue
            body, fixed, reactions = (one.find(path, _SPACES) for path in ("c:body", "fix:replace", "r:reactions"))
            if reactions is not None:
                liked = found[reactions.get("id", "")]
                signs = tuple(sign.text or "" for sign in reactions)
                found[reactions.get("id", "")] = replace(liked, reactions=signs)
            elif fixed is not None and body is not None:
                key = next(key for key, one in found.items() if one.id.endswith(f"/{fixed.get('id')}"))
                found[key] = replace(found[key], text=body.text or "")
            elif body is not None:
                is_ours = by in (self.us, f"sojourn@{DOMAIN}")
                id = build_message_id("" if is_ours and not is_group else number, origin)
                link, files = one.find("oob:x/oob:url", _SPACES), list[File]()
                if link is not None:
                    async with httpx2.AsyncClient() as http:
                        data = (await http.get(link.text or "")).raise_for_status().content
                    files.append(File(name="", media_type="", data=data))
                found[number if is_group else origin] = PostedMessage(
                    id=id, text=body.text or "", by=by, files=tuple(files)
                )
        return list(found.values())

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        if kind == "forbidden":
            await self.configure(moderatedroom="1")
        elif next(iter(self.chats)) == "group":
            destroy = "<query xmlns='http://jabber.org/protocol/muc#owner'><destroy/></query>"
            await self.ann.ask("set", destroy, self.room)
        else:
            self.ann.say("<iq type='set' id='gone'><query xmlns='jabber:iq:register'><remove/></query></iq>")
            await self.ann.until_cut_off()

    async def drop_connections(self) -> None:
        self.line.drop_connections()
        for person in (self.ann, self.ben):
            person.stanzas.clear()

    async def break_sending(self) -> None:
        self.line.die()

    async def close(self) -> None: ...
