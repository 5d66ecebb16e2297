"""A WhatsApp for the bridge: our Node program runs as it is, with a stand-in for Baileys that this harness drives."""

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.whatsapp_bridge import WhatsappBridgeSettings
from sojourn.platforms.whatsapp_bridge.adapter import WhatsappBridge
from sojourn.ports.platform import File, PlatformAdapter
from sojourn.testing.platform_harness import PostedMessage
from tests.servers.adapter_context import AdapterKit, With

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = Path(__file__).with_name("baileys_stand_in.mjs")
US, OUR_LID, GROUP = "4915100@s.whatsapp.net", "7000@lid", "120363@g.us"
_STATUS: Mapping[Refusal, int] = {"forbidden": 403, "not_found": 404}


def find_node() -> str:
    """The Node of this machine, or the one that the pages are built with."""
    folder = subprocess.run([ROOT / "scripts" / "web", "--node"], check=True, capture_output=True, text=True).stdout
    return shutil.which("node", path=folder.strip()) or "node"


class BridgeHarness:
    lacks: Mapping[str, str] = {
        "other bots": "WhatsApp does not say who is a bot",
        "bad format": "WhatsApp takes any text",
        "rate limit": "WhatsApp does not say how long to wait",
    }
    secret = ""
    threads: Sequence[PlaceKind] = ()
    people = (Sender(id="1001@lid", name="Ann"), Sender(id="1002@lid", name="Ben"))
    chats: Mapping[PlaceKind, str] = {"dm": "1001@lid", "group": GROUP}

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="bridge-"))
        self._node = find_node()
        self._posts: dict[str, list[PostedMessage]] = {}
        self._undelivered: list[dict[str, Any]] = []  # WhatsApp keeps them while the device is away
        self._writer: asyncio.StreamWriter | None = None
        self._open = asyncio.Event()
        self._count = 0
        self._fault: int | None = None
        self._is_dead = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        for name in ("signed-in", "new"):
            self._install(name, self._server.sockets[0].getsockname()[1])
        self._kit = AdapterKit(None)
        return self

    def _install(self, name: str, port: int) -> None:
        package = self._folder / name / "node_modules" / "baileys"
        package.mkdir(parents=True)
        (package / "package.json").write_text('{"name": "baileys", "type": "module", "main": "index.js"}')
        shutil.copy(STAND_IN, package / "index.js")
        (self._folder / name / "control.json").write_text(json.dumps({"port": port, "signed_in": name == "signed-in"}))

    async def __aexit__(self, *_: object) -> None:
        await self._kit.close()
        self._server.close()
        if self._writer is not None:
            self._writer.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _settings(self, name: str, **more: Any) -> WhatsappBridgeSettings:
        given: dict[str, Any] = {
            "accept_risk": True,
            "folder": self._folder / name,
            "node": self._node,
            "linked": False,
        }
        return WhatsappBridgeSettings(**given | more)

    def connect(self, **more: Any) -> WhatsappBridge:
        return WhatsappBridge(With(self._kit, self._settings("signed-in", **more)))

    def connect_wrongly(self) -> PlatformAdapter:
        return WhatsappBridge(With(self._kit, self._settings("new")))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One device of ours that is connected."""
        self._writer = writer
        self._open.set()
        for one in self._undelivered:
            await self._tell({"message": one})
        self._undelivered = []
        try:
            while line := await reader.readline():
                await self._answer(json.loads(line))
        except ConnectionError:
            pass
        finally:
            if self._writer is writer:
                self._writer = None
                self._open.clear()
            writer.close()

    async def _tell(self, value: Mapping[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps(value).encode() + b"\n")
        await self._writer.drain()

    async def _answer(self, asked: dict[str, Any]) -> None:
        status, self._fault = 428 if self._is_dead else self._fault, None
        if status:
            await self._tell({"reply": asked["id"], "status": status})
            return
        id = self._post(asked["chat"], asked["content"])
        await self._tell({"reply": asked["id"], "value": id})

    def _post(self, chat: str, content: dict[str, Any]) -> str:
        """What the account wrote, as people see it."""
        posts = self._posts.setdefault(chat, [])
        changed = (content.get("edit") or content.get("react", {}).get("key") or {}).get("id")
        for n, one in enumerate(posts):
            if changed and one.id.partition("/")[0] == changed:
                if "react" in content:
                    posts[n] = replace(one, reactions=(*one.reactions, content["react"]["text"]))
                else:
                    posts[n] = replace(one, text=content["text"])
        id = self._next_id()
        if not changed:
            sent = [content[kind] for kind in ("image", "document") if kind in content]
            files = tuple(File(name="", media_type="", data=base64.b64decode(one["base64"])) for one in sent)
            text = content.get("text") or content.get("caption") or ""
            posts.append(PostedMessage(id=f"{id}/me", text=text, by=OUR_LID, files=files))
        return id

    def _next_id(self) -> str:
        self._count += 1
        return f"3EB0{self._count:08X}"

    async def until_listening(self) -> None:
        await self._open.wait()

    async def write(
        self, place: Place, text: str, by: Sender, *, files: Sequence[File] = (), from_me: bool = False
    ) -> str:
        id, is_group = self._next_id(), place.chat.endswith("@g.us")
        content: dict[str, Any] = {"conversation": text}
        if is_group:
            content = {"extendedTextMessage": {"text": text, "contextInfo": {"mentionedJid": [OUR_LID]}}}
        data = ""
        for file in files:
            content = {"imageMessage": {"mimetype": file.media_type, "caption": text}}
            data = base64.b64encode(file.data).decode()
        key = {"remoteJid": place.chat, "id": id, "fromMe": from_me}
        message = {
            "key": key | ({"participant": by.id} if is_group else {}),
            "message": content,
            "pushName": by.name,
            "messageTimestamp": int(time.time()),
            "data": data,
        }
        self._posts.setdefault(place.chat, []).append(PostedMessage(id=f"{id}/{by.id}", text=text, by=by.id))
        if self._writer is None:
            self._undelivered.append(message)
        else:
            await self._tell({"message": message})
        return f"{id}/{by.id}"

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return list(self._posts.get(place.chat, ()))

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self._fault = _STATUS[kind]

    async def sign_out(self) -> None:
        await self._tell({"close": 401})

    async def drop_connections(self) -> None:
        await self._tell({"close": 428})

    async def break_sending(self) -> None:
        self._is_dead = True

    async def close(self) -> None: ...
