"""Discord's gateway: events over a websocket, with the missed ones replayed on a resume."""

import json
import zlib
from contextlib import suppress
from typing import Any

from aiohttp import WSMsgType, web

from tests.servers.aiohttp_server import Signal, hang_up
from tests.servers.discord_payloads import ANN, GUILD, PRIVATE, PUBLIC_THREAD, TOKEN, US


class Session:
    """What a bot has been told since it identified; it can come back and hear the rest."""

    def __init__(self, id: str) -> None:
        self.id, self.events = id, list[str]()
        self.line: Line | None = None


class Line:
    """One websocket, its text in one zlib stream."""

    def __init__(self, request: web.Request, ws: web.WebSocketResponse) -> None:
        self.request, self.ws, self._zlib = request, ws, zlib.compressobj()

    async def send(self, text: str) -> None:
        await self.ws.send_bytes(self._zlib.compress(text.encode()) + self._zlib.flush(zlib.Z_SYNC_FLUSH))


class DiscordGateway:
    """The lines of one bot."""

    def __init__(self, channels: dict[int, dict[str, Any]]) -> None:
        self.channels = channels
        self.sessions: dict[str, Session] = {}
        self.resumed: list[int] = []  # after which event a line went on
        self.url, self.close_with = "", 0
        self.changed = Signal()

    async def gateway(self, request: web.Request) -> web.WebSocketResponse:
        assert request.query["compress"] == "zlib-stream"
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        line, session = Line(request, ws), None
        await line.send(json.dumps({"op": 10, "d": {"heartbeat_interval": 41250}}))
        try:
            async for message in ws:
                if message.type != WSMsgType.TEXT:
                    continue
                said = json.loads(message.data)
                if said["op"] == 1:
                    await line.send(json.dumps({"op": 11}))
                elif said["op"] == 2:
                    session = await self._identify(line, said["d"])
                elif said["op"] == 6:
                    session = await self._resume(line, said["d"])
        finally:
            if session is not None and session.line is line:
                session.line = None
        return ws

    async def _identify(self, line: Line, said: dict[str, Any]) -> Session | None:
        if self.close_with or said["token"] != TOKEN:
            await line.ws.close(code=self.close_with or 4004)
            return None
        assert said["intents"] & (1 << 15), "without the content of messages nothing is heard"
        session = Session(f"s{len(self.sessions)}")
        self.sessions[session.id], session.line = session, line
        where = self.url.replace("http", "ws") + "/gateway"
        ready = {"v": 10, "user": US, "session_id": session.id, "resume_gateway_url": where, "private_channels": []}
        ready |= {"guilds": [{"id": str(GUILD), "unavailable": True}], "application": {"id": "1", "flags": 0}}
        await self._tell(session, "READY", ready)
        await self._tell(session, "GUILD_CREATE", self._guild())
        self.changed.ring()
        return session

    async def _resume(self, line: Line, said: dict[str, Any]) -> Session | None:
        session = self.sessions.get(said["session_id"])
        if session is None:
            await line.send(json.dumps({"op": 9, "d": False}))
            return None
        session.line = line
        self.resumed.append(said["seq"])
        for event in session.events[said["seq"] :]:
            await line.send(event)
        await self._tell(session, "RESUMED", {})
        self.changed.ring()
        return session

    async def tell(self, event: str, data: dict[str, Any]) -> None:
        for session in self.sessions.values():
            await self._tell(session, event, data)

    async def _tell(self, session: Session, event: str, data: dict[str, Any]) -> None:
        session.events.append(json.dumps({"op": 0, "s": len(session.events) + 1, "t": event, "d": data}))
        if session.line is not None:
            with suppress(ConnectionError):
                await session.line.send(session.events[-1])

    def _guild(self) -> dict[str, Any]:
        here = [one for one in self.channels.values() if one["type"] not in (PRIVATE, PUBLIC_THREAD)]
        empty: dict[str, Any] = {key: [] for key in ("emojis", "stickers", "features", "members", "presences")}
        told: dict[str, Any] = {
            "id": str(GUILD),
            "name": "Harness",
            "owner_id": ANN.id,
            "channels": here,
            "threads": [],
            "roles": [],
        }
        return told | empty | {"voice_states": [], "stage_instances": [], "guild_scheduled_events": []}

    async def until_linked(self) -> None:
        await self.changed.until(lambda: any(one.line for one in self.sessions.values()))

    async def drop_connections(self) -> None:
        await self.until_linked()
        for session in self.sessions.values():
            if session.line is not None:
                hang_up(session.line.request)
                session.line = None
