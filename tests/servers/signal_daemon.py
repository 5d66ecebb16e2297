"""A server with the protocol of the signal-cli daemon, the true daemon, and the test harness of `signal`."""

import asyncio
import base64
import json
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from aiohttp import web

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.signal import SignalSettings
from sojourn.platforms.signal.adapter import Signal as SignalAdapter
from sojourn.platforms.signal.envelopes import to_chat
from sojourn.ports.platform import File
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.platform_server import WiredHarness, wired

ROOT = Path(__file__).resolve().parents[2]
NUMBER, OWN = "+4915100000001", "00000000-0000-4000-8000-000000000001"
ANN, BEN = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
GROUP = "/+" + "A" * 41 + "="
Json = dict[str, Any]


@dataclass
class Kept:
    """A message as people see it."""

    chat: str
    by: str
    timestamp: int
    text: str
    params: Json = field(default_factory=dict)
    files: list[File] = field(default_factory=list)
    reactions: list[str] = field(default_factory=list)


class RpcFault(Exception):
    """What the daemon answers instead."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class SignalServer:
    """As signal-cli 0.13.19 answers, of what one account needs."""

    def __init__(self) -> None:
        self.url, self.faults, self.dead = "", list[Any](), False
        self.accounts = {NUMBER}
        self.messages: list[Kept] = []
        self.attachments: dict[str, bytes] = {}
        self.calls: list[Json] = []
        self._lines: set[web.StreamResponse] = set()
        self._transports: set[Any] = set()
        self.changed = Signal()
        self._times = count(int(time.time() * 1000))

    def app(self) -> web.Application:
        app = web.Application(client_max_size=200 * 1024 * 1024)
        app.router.add_get("/api/v1/check", self._check)
        app.router.add_post("/api/v1/rpc", self._rpc)
        app.router.add_get("/api/v1/events", self._events)
        return app

    @property
    def listeners(self) -> int:
        return len(self._lines)

    def next_time(self) -> int:
        return next(self._times)

    async def drop_connections(self) -> None:
        for transport in self._transports:
            transport.abort()

    async def tell(self, document: Any, *, raw: str | None = None) -> None:
        data = json.dumps(document) if raw is None else raw
        for line in list(self._lines):
            await line.write(f"event:receive\ndata:{data}\n\n".encode())

    async def _check(self, _: web.Request) -> web.Response:
        return web.Response()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("account", NUMBER) not in self.accounts:
            return web.Response(status=400)
        line = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await line.prepare(request)
        await line.write(b":\n")
        self._lines.add(line)
        self._transports.add(request.transport)
        self.changed.ring()
        try:
            await asyncio.Event().wait()
        finally:
            self._lines.discard(line)
            self._transports.discard(request.transport)
        return line

    async def _rpc(self, request: web.Request) -> web.Response:
        if request.content_type != "application/json":
            return web.Response(status=415)
        try:
            call = json.loads(await request.text())
        except ValueError as error:
            return web.json_response({"jsonrpc": "2.0", "error": RpcFault(-32700, str(error)).error, "id": None})
        method, params = call["method"], call.get("params") or {}
        self.calls.append(call)
        if self.dead and method == "send":
            hang_up(request)
            return web.Response()
        try:
            result = self._answer(method, params)
        except RpcFault as fault:
            return web.json_response({"jsonrpc": "2.0", "error": fault.error, "id": call.get("id")})
        if "id" not in call:
            return web.Response(status=201)
        return web.json_response({"jsonrpc": "2.0", "result": result, "id": call["id"]})

    def _answer(self, method: str, params: Json) -> Any:
        if method == "version":
            return {"version": "0.13.19"}
        if method == "listAccounts":
            return [{"number": one} for one in sorted(self.accounts)]
        acts = {
            "send": self._send,
            "sendReaction": self._react,
            "sendTyping": lambda params: {},
            "getAttachment": self._attachment,
            "getUserStatus": lambda params: [
                {"recipient": NUMBER, "number": NUMBER, "uuid": OWN, "isRegistered": True}
            ],
        }
        if method not in acts:
            raise RpcFault(-32601, "Method not implemented")
        if params.get("account") not in self.accounts:
            raise RpcFault(-32602, "Specified account does not exist")
        return acts[method](params)

    def _send(self, params: Json) -> Json:
        if self.faults:
            fault = self.faults.pop(0)
            if isinstance(fault, RpcFault):
                raise fault
            return {"timestamp": self.next_time(), "results": [fault]}
        chat = params.get("groupId") or params["recipient"][0]
        timestamp = self.next_time()
        if "editTimestamp" in params:
            [old] = [one for one in self.messages if one.timestamp == params["editTimestamp"] and one.by == NUMBER]
            old.text = params["message"]
        else:
            files = [_read_data_uri(one) for one in params.get("attachments", ())]
            self.messages.append(Kept(chat, NUMBER, timestamp, params["message"], params, files))
        to = {"uuid": chat, "number": None}
        return {"timestamp": timestamp, "results": [{"recipientAddress": to, "type": "SUCCESS"}]}

    def _react(self, params: Json) -> Json:
        key = (params["targetAuthor"], params["targetTimestamp"])
        [target] = [one for one in self.messages if (one.by, one.timestamp) == key]
        target.reactions.append(params["emoji"])
        return {"timestamp": self.next_time(), "results": []}

    def _attachment(self, params: Json) -> Json:
        if params["id"] not in self.attachments:
            raise RpcFault(-1, "Could not find attachment with ID: gone: not found")
        return {"data": base64.b64encode(self.attachments[params["id"]]).decode()}


def _read_data_uri(uri: str) -> File:
    head, _, data = uri.removeprefix("data:").partition(",")
    kind, name, coding = head.split(";")
    assert coding == "base64"
    return File(name=unquote(name.removeprefix("filename=")), media_type=kind, data=base64.b64decode(data))


class SignalHarness(WiredHarness[SignalServer]):
    lacks: Mapping[str, str] = {
        "told again": "the daemon does not wait until a message is stored, and repeats none",
        "own messages": "the daemon does not tell a device what it sent itself",
        "other bots": "Signal does not say who is a bot",
    }
    secret = ""
    chats: Mapping[PlaceKind, str] = {"dm": ANN, "group": GROUP}
    threads: Sequence[PlaceKind] = ()
    people = (Sender(id=ANN, name="Ann"), Sender(id=BEN, name="Ben"))

    def __init__(self, server: SignalServer) -> None:
        self.server = server
        self._kit = AdapterKit(None)
        self.made: list[SignalAdapter] = []

    def connect(self, **more: Any) -> SignalAdapter:
        given: Json = {"account": NUMBER, "url": self.server.url}
        self.made.append(SignalAdapter(With(self._kit, SignalSettings(**given | more))))
        return self.made[-1]

    def connect_wrongly(self) -> SignalAdapter:
        return self.connect(account="+4915100000009")

    async def until_listening(self) -> None:
        await self.server.changed.until(lambda: bool(self.server.listeners))

    def envelope(self, data: Json, by: str = ANN, **more: Any) -> Json:
        name = {ANN: "Ann", BEN: "Ben"}.get(by, "")
        about = {"source": by, "sourceNumber": None, "sourceUuid": by, "sourceName": name, "sourceDevice": 1}
        return {
            "envelope": about | {"timestamp": data.get("timestamp")} | more | {"dataMessage": data},
            "account": NUMBER,
        }

    def data(self, text: str | None, **more: Any) -> Json:
        return {"timestamp": self.server.next_time(), "message": text, "expiresInSeconds": 0, "viewOnce": False} | more

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        data = self.data(text)
        if place.kind == "group":
            mention = {"name": NUMBER, "number": NUMBER, "uuid": OWN, "start": 0, "length": 1}
            data |= {"message": f"\ufffc {text}", "mentions": [mention]}
            data["groupInfo"] = {"groupId": GROUP, "groupName": "garden", "revision": 1, "type": "DELIVER"}
        for n, file in enumerate(files):
            id = f"file{n}.png"
            self.server.attachments[id] = file.data
            about = {"contentType": file.media_type, "filename": file.name, "id": id, "size": len(file.data)}
            data.setdefault("attachments", []).append(about)
        chat = GROUP if place.kind == "group" else by.id
        self.server.messages.append(Kept(chat, by.id, data["timestamp"], text))
        await self.server.tell(self.envelope(data, by.id))
        return f"{by.id}/{data['timestamp']}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        shown = [one for one in self.server.messages if place.chat in (one.chat, to_chat(one.chat))]
        return [
            PostedMessage(
                id=f"{one.by}/{one.timestamp}",
                text=one.text,
                by=one.by,
                files=tuple(one.files),
                reactions=tuple(one.reactions),
            )
            for one in shown
        ]

    def refusals(self, retry_after: float | None) -> Mapping[str, Any]:
        to = {"recipientAddress": {"uuid": ANN, "number": None}}
        limited = to | {"type": "RATE_LIMIT_FAILURE", "retryAfterSeconds": retry_after}
        return {
            "bad_format": RpcFault(-1, "Invalid syntax for textStyle"),
            "rate_limited": RpcFault(-5, "Rate limit reached", {"response": {"results": [limited]}}),
            "forbidden": RpcFault(-1, "User is not a member in group"),
            "not_found": to | {"type": "UNREGISTERED_FAILURE"},
        }

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.server.faults.append(self.refusals(retry_after)[kind])

    async def close(self) -> None:
        for one in self.made:
            await one.close()
        await self._kit.close()


@asynccontextmanager
async def signal_harness() -> AsyncIterator[SignalHarness]:
    async with wired(SignalServer()) as server:
        harness = SignalHarness(server)
        yield harness
        await harness.close()


@contextmanager
def signal_cli(folder: Path) -> Iterator[str]:
    """The address of a true daemon, without an account. Where it cannot be had the test is skipped with the reason."""
    made = subprocess.run([ROOT / "scripts" / "signal-cli"], cwd=ROOT, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(made.stderr.strip()[-300:])
    program, java = made.stdout.split()
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [program, "--config", str(folder / "data"), "daemon", "--http", f"127.0.0.1:{port}"]
    with (folder / "out").open("w") as out:
        environment = os.environ | {"JAVA_HOME": java, "HOME": str(folder)}
        daemon = subprocess.Popen(
            [*command, "--receive-mode", "on-connection"], env=environment, stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + 60
        while True:
            assert daemon.poll() is None, (folder / "out").read_text()[-2000:]
            assert time.monotonic() < deadline, (folder / "out").read_text()[-2000:]
            try:
                if httpx2.get(f"{url}/api/v1/check", timeout=2).is_success:
                    break
            except httpx2.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        daemon.kill()
        daemon.wait()
