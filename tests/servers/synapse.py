"""A real Matrix homeserver, Synapse, and the test harness of `matrix`."""

import asyncio
import base64
import json
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx2

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.core.settings import Secret
from sojourn.platforms.matrix import MatrixSettings
from sojourn.platforms.matrix.adapter import Matrix
from sojourn.ports.platform import File, PlatformAdapter
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With
from tests.servers.tcp_proxy import Line

ROOT = Path(__file__).resolve().parents[2]
ENCRYPTION = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
_PLENTY = {"per_second": 100_000, "burst_count": 100_000}


@contextmanager
def synapse(folder: Path) -> Iterator[int]:
    """The port of a homeserver named `localhost`, with nobody on it yet."""
    subprocess.run([ROOT / "scripts" / "synapse"], check=True, cwd=ROOT)
    port = free_port()
    config = folder / "homeserver.json"  # JSON is YAML, too
    config.write_text(json.dumps(_config(folder, port)))
    (folder / "signing.key").write_text("ed25519 a_test " + base64.b64encode(bytes(32)).decode().rstrip("=") + "\n")
    python = ROOT / ".venv-synapse" / "bin" / "python"
    with (folder / "out").open("w") as out:
        server = subprocess.Popen(
            [python, "-m", "synapse.app.homeserver", "-c", config], cwd=folder, stdout=out, stderr=out
        )
    try:
        _until_up(server, port, folder / "out")
        yield port
    finally:
        server.kill()
        server.wait()


def _config(folder: Path, port: int) -> dict[str, Any]:
    limits = {f"rc_{one}": _PLENTY for one in ("message", "registration", "admin_redaction", "joins_per_room")}
    return limits | {
        "server_name": "localhost",
        "pid_file": str(folder / "pid"),
        "report_stats": False,
        "bcrypt_rounds": 4,
        "listeners": [
            {"port": port, "bind_addresses": ["127.0.0.1"], "type": "http", "resources": [{"names": ["client"]}]}
        ],
        "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
        "media_store_path": str(folder / "media"),
        "signing_key_path": str(folder / "signing.key"),
        "registration_shared_secret": "r",
        "macaroon_secret_key": "m",
        "form_secret": "f",
        "enable_registration": True,
        "enable_registration_without_verification": True,
        "trusted_key_servers": [],
        "presence": {"enabled": False},
        "caches": {"sync_response_cache_duration": "0s"},
        "rc_joins": {"local": _PLENTY, "remote": _PLENTY},
        "rc_login": {"address": _PLENTY, "account": _PLENTY},
        "rc_invites": {"per_room": _PLENTY, "per_user": _PLENTY, "per_issuer": _PLENTY},
        "rc_room_creation": _PLENTY,
    }


def _until_up(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()[-2000:]
        try:
            if httpx2.get(f"http://127.0.0.1:{port}/_matrix/client/versions", timeout=2).is_success:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"the homeserver does not start: {log.read_text()[-2000:]}")


@dataclass
class World:
    """Who and what is on the server already: making it anew for each test takes most of the time."""

    port: int
    home: Path = Path("/nowhere/.sojourn")
    tokens: dict[str, str] = field(default_factory=dict)
    rooms: dict[PlaceKind, str] = field(default_factory=dict)


class MatrixHarness:
    lacks: Mapping[str, str] = {
        "bad format": "the server takes any HTML",
        "not found": "a server says “forbidden” of rooms it does not know",
    }
    threads: Sequence[PlaceKind] = ("dm", "group")
    has_encryption = False
    identities: tuple[str, ...] = ()

    def __init__(self, world: World) -> None:
        self._http = httpx2.AsyncClient(
            base_url=f"http://127.0.0.1:{world.port}/_matrix/client/v3", timeout=20, verify=False
        )
        self._world, self._tokens = world, world.tokens
        self._line = Line(world.port)
        self._began: dict[str, str] = {}  # how far each room was when we came
        self._listening = asyncio.Event()
        self._refusal: bytes | None = None
        self._closed_door: bytes | None = None

    async def __aenter__(self) -> Self:
        await self._line.__aenter__()
        self._line.overhear = self._overhear
        if not self._tokens:
            for name in ("sojourn", "ann", "ben"):
                await self.register(name)
        us, ann, ben = list(self._tokens)[:3]
        self.people = (Sender(id=ann, name="ann"), Sender(id=ben, name="ben"))
        self.us, self.secret = us, self._tokens[us]
        self.chats: Mapping[PlaceKind, str] = self._world.rooms
        if not self.chats:
            self._world.rooms |= {"dm": await self.make_room(ann, us), "group": await self.make_room(ann, us, ben)}
        for room in self.chats.values():
            newest = await self.ask("GET", f"/rooms/{quote(room)}/messages?dir=b&limit=1", ann)
            self._began[room] = newest["start"]
        self._kit = AdapterKit(self._settings(self.secret), self._world.home)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._kit.close()
        await self._line.__aexit__()
        await self._http.aclose()

    async def register(self, name: str) -> str:
        asked = {"username": name, "password": "p", "auth": {"type": "m.login.dummy"}}
        made = (await self._http.post("/register", json=asked)).raise_for_status().json()
        self._tokens[made["user_id"]] = made["access_token"]
        return str(made["user_id"])

    async def ask(self, method: str, path: str, by: str, body: Any = None, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {self._tokens[by]}"}
        reply = await self._http.request(method, path, headers=headers, json=body, **more)
        assert reply.is_success, reply.text
        return reply.json()

    async def make_room(self, by: str, *others: str, join: bool = True, **more: Any) -> str:
        made = await self.ask("POST", "/createRoom", by, {"preset": "private_chat", "invite": others, **more})
        room = str(made["room_id"])
        for one in others if join else ():
            await self.ask("POST", f"/join/{quote(room)}", one, {})
        return room

    def _settings(self, token: str) -> MatrixSettings:
        address = f"http://127.0.0.1:{self._line.port}"
        return MatrixSettings(
            homeserver=address,
            user=self.us,
            access_token=Secret(token),
            encryption=self.has_encryption,
            identities=self.identities,
        )

    def connect(self) -> Matrix:
        return Matrix(With(self._kit, self._settings(self.secret)))

    def connect_wrongly(self) -> PlatformAdapter:
        return Matrix(With(self._kit, self._settings("syt_wrong")))

    def _overhear(self, said: bytes) -> bytes | None:
        if b"/sync?" in said and b"since=" in said:
            self._listening.set()
        if b"/join/" in said:
            return self._closed_door
        if self._refusal and b"/send/" in said:
            answer, self._refusal = self._refusal, None
            return answer
        return None

    async def until_listening(self) -> None:
        await self._listening.wait()

    async def until_joined(self, room: str) -> None:
        path = f"/rooms/{quote(room)}/joined_members"
        while self.us not in (await self.ask("GET", path, self.people[0].id))["joined"]:
            await asyncio.sleep(0.05)

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        author = by.id if by.id in self._tokens else self.people[0].id  # a bot is known by its notices
        content: dict[str, Any] = {"msgtype": "m.notice" if by.is_bot else "m.text", "body": text}
        for file in files:
            content |= {"msgtype": "m.image", "filename": file.name, "url": await self._upload(file, author)}
            content["info"] = {"mimetype": file.media_type}
        if place.thread:
            content["m.relates_to"] = {"rel_type": "m.thread", "event_id": place.thread}
        return await self.post(place.chat, content, author)

    async def post(self, room: str, content: dict[str, Any], by: str) -> str:
        path = f"/rooms/{quote(room)}/send/m.room.message/{uuid.uuid4().hex}"
        return str((await self.ask("PUT", path, by, content))["event_id"])

    async def try_to_post(self, room: str, content: dict[str, Any], by: str) -> bool:
        """Whether the server takes it."""
        headers = {"Authorization": f"Bearer {self._tokens[by]}"}
        path = f"/rooms/{quote(room)}/send/m.room.message/{uuid.uuid4().hex}"
        return (await self._http.put(path, headers=headers, json=content)).is_success

    def refuse_to_let_us_in(self) -> None:
        """Answers whoever wants to enter a room that its server is not there."""
        body = json.dumps({"errcode": "M_UNKNOWN", "error": "no server of this room answers"})
        head = f"HTTP/1.1 502 Bad Gateway\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self._closed_door = f"{head}\r\nConnection: close\r\n\r\n{body}".encode()

    async def _upload(self, file: File, by: str) -> str:
        headers = {"Authorization": f"Bearer {self._tokens[by]}", "Content-Type": file.media_type}
        path = f"/_matrix/media/v3/upload?filename={file.name}"
        address = self._http.base_url.copy_with(path="/")
        reply = await self._http.post(str(address).rstrip("/") + path, headers=headers, content=file.data)
        return str(reply.raise_for_status().json()["content_uri"])

    async def _download(self, url: str) -> bytes:
        headers = {"Authorization": f"Bearer {self._tokens[self.people[0].id]}"}
        address = str(self._http.base_url.copy_with(path="/")).rstrip("/")
        path = f"/_matrix/client/v1/media/download/{url.removeprefix('mxc://')}"
        return (await self._http.get(address + path, headers=headers)).raise_for_status().content

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        path = f"/rooms/{quote(place.chat)}/messages?dir=f&limit=200&from={self._began.get(place.chat, '')}"
        found: dict[str, PostedMessage] = {}
        for event in (await self.ask("GET", path, self.people[0].id))["chunk"]:
            content, id = event["content"], event["event_id"]
            relation = content.get("m.relates_to", {})
            if event["type"] == "m.reaction" and relation["event_id"] in found:
                liked = found[relation["event_id"]]
                found[liked.id] = replace(liked, reactions=(*liked.reactions, relation["key"]))
            if event["type"] != "m.room.message":
                continue
            if relation.get("rel_type") == "m.replace":
                old = found[relation["event_id"]]
                found[old.id] = PostedMessage(id=old.id, text=content["m.new_content"]["body"], by=old.by)
            elif (relation["event_id"] if relation.get("rel_type") == "m.thread" else None) == place.thread:
                files = (
                    [File(name="", media_type="", data=await self._download(content["url"]))]
                    if "url" in content
                    else ()
                )
                found[id] = PostedMessage(id=id, text=content["body"], by=event["sender"], files=tuple(files))
        return list(found.values())

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        if kind == "forbidden":
            path = f"/rooms/{quote(self.chats['dm'])}/kick"
            await self.ask("POST", path, self.people[0].id, {"user_id": self.us})
            self._world.rooms = {}  # the next one gets others
            return
        body = json.dumps(
            {"errcode": "M_LIMIT_EXCEEDED", "error": "slowly", "retry_after_ms": 1000 * (retry_after or 0)}
        )
        head = f"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        self._refusal = f"{head}\r\nConnection: close\r\n\r\n{body}".encode()

    async def drop_connections(self) -> None:
        for _ in range(2):  # the SDK asks once more by itself
            self._listening.clear()  # whoever has just begun to listen on gets as far as asking the server
            with suppress(TimeoutError):
                await asyncio.wait_for(self._listening.wait(), 1)
            self._line.drop_connections()

    async def break_sending(self) -> None:
        self._line.die()

    async def close(self) -> None: ...
