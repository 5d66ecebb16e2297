"""AcpServer: answers an editor's requests of the Agent Client Protocol with `ports.Service`, as `sojourn chat` does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from sojourn import __version__
from sojourn.acp_server.prompt_content import parse_prompt
from sojourn.acp_server.prompt_turn import PromptTurn
from sojourn.acp_server.session_options import SessionOptions
from sojourn.acp_server.updates import replay
from sojourn.asyncio_tasks import cancel_tasks
from sojourn.chat_commands import take_session
from sojourn.core.errors import BadInput, NotFound, SojournError
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    JsonRpcConnection,
    LineWriter,
    Params,
    RpcError,
)
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.store import Listing

PROTOCOL_VERSION = 1  # a client that asks for a later one is answered with this one, as the protocol says
RESOURCE_NOT_FOUND = -32002  # the protocol's own error code
_PAGE_SESSIONS = 50


class EditorStreams(Protocol):
    """What an editor sends, and where answers go."""

    reader: asyncio.StreamReader

    def write(self, data: bytes, /) -> None: ...
    async def drain(self) -> None: ...


class AcpServer:
    """One editor. `workspace` is the folder of a session that names none. Turns go on when the editor leaves."""

    def __init__(self, service: Service, streams: EditorStreams, by: Caller, *, workspace: Path) -> None:
        self._service, self._streams, self._by, self._workspace = service, streams, by, workspace
        self._options: dict[SessionId, SessionOptions] = {}
        self._unused: set[SessionId] = set()  # opened here, and nothing was said yet
        self._prompts: dict[SessionId, PromptTurn] = {}
        self._cancelling: set[asyncio.Task[None]] = set()
        self._methods: dict[str, Callable[[Params], Awaitable[Json]]] = {
            "initialize": self._initialize,
            "session/new": self._open,
            "session/list": self._list,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
            "session/close": self._close_session,
        }
        writer: LineWriter = streams
        self._rpc = JsonRpcConnection(
            streams.reader, writer, on_notification=self._on_notification, on_request=self._on_request
        )

    async def run(self) -> None:
        """Serves until the editor closes the connection."""
        try:
            await self._rpc.wait_closed()
        finally:
            await self._rpc.close()
            await cancel_tasks(self._cancelling)
            for session in self._unused:
                await self._trash(session)

    async def _trash(self, session: SessionId) -> None:
        """Editors open a session before anything is said; one in which nothing was said is not kept in the list."""
        try:
            found = await self._service.get(session)
            if not found.last_seq and not found.title:
                await self._service.change(found, replace(found, trashed_at=time.time()))
        except SojournError:  # deleted, or changed meanwhile: then somebody uses it
            return

    async def _on_request(self, method: str, params: Params) -> Json:
        if method not in self._methods:
            raise RpcError(METHOD_NOT_FOUND, f"{method} is not supported")
        try:
            answer = await self._methods[method](params)
        except RpcError:
            raise
        except SojournError as error:
            code = RESOURCE_NOT_FOUND if isinstance(error, NotFound) else INTERNAL_ERROR
            code = INVALID_PARAMS if isinstance(error, BadInput) else code
            raise RpcError(code, f"{error} {error.hint}".strip()) from error
        await self._streams.drain()
        return answer

    def _on_notification(self, method: str, params: Params) -> None:
        if method == "session/cancel" and (prompt := self._prompts.get(SessionId(str(params.get("sessionId"))))):
            task = asyncio.create_task(prompt.cancel())
            self._cancelling.add(task)
            task.add_done_callback(self._cancelling.discard)

    def _send(self, session: SessionId, update: Params) -> None:
        self._rpc.notify("session/update", {"sessionId": session, "update": update})

    async def _initialize(self, params: Params) -> Json:
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentInfo": {"name": "sojourn", "title": "Sojourn", "version": __version__},
            "authMethods": [],
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
            },
        }

    # sessions
    async def _open(self, params: Params) -> Json:
        session = await self._service.open(self._by, cwd=_require_folder(params))
        self._unused.add(session.id)
        return {"sessionId": session.id, **await self._options_of(session.id).describe()}

    async def _list(self, params: Params) -> Json:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        listing = Listing(
            projects=(cwd,) if isinstance(cwd, str) and cwd else (),
            subagents=False,
            limit=_PAGE_SESSIONS,
            before=_parse_cursor(cursor) if isinstance(cursor, str) and cursor else None,
        )
        found = await self._service.find(listing)
        answer: Params = {"sessions": [self._describe(one) for one in found if one.id not in self._unused]}
        if len(found) == _PAGE_SESSIONS:
            answer["nextCursor"] = f"{found[-1].last_active!r} {found[-1].id}"
        return answer

    def _describe(self, session: Session) -> Json:
        return {
            "sessionId": session.id,
            "cwd": session.cwd if session.cwd and Path(session.cwd).is_absolute() else str(self._workspace),
            "title": session.title or session.preview or session.id,
            "updatedAt": datetime.fromtimestamp(session.last_active, UTC).isoformat(timespec="seconds"),
        }

    async def _load(self, params: Params) -> Json:
        session = await self._find(params)
        for update in replay(await self._service.messages(session.id)):
            self._send(session.id, update)
            await self._streams.drain()
        return await self._options_of(session.id).describe()

    async def _resume(self, params: Params) -> Json:
        return await self._options_of((await self._find(params)).id).describe()

    async def _close_session(self, params: Params) -> Json:
        session = SessionId(str(params.get("sessionId")))
        if prompt := self._prompts.get(session):
            await prompt.cancel()
        self._options.pop(session, None)
        if session in self._unused:
            self._unused.discard(session)
            await self._trash(session)
        return {}

    async def _find(self, params: Params) -> Session:
        """The session of a request, by its whole id. NotFound, also for one in the trash."""
        session = SessionId(str(params.get("sessionId") or ""))
        found = await self._service.get(session, principal=OWNER)
        if found.trashed_at is not None:
            raise NotFound(f"Session {session} is in the trash.", hint="Take it out in the dashboard.")
        return found

    def _options_of(self, session: SessionId) -> SessionOptions:
        if session not in self._options:
            self._options[session] = SessionOptions(self._service, session, self._by)
        return self._options[session]

    async def _set_mode(self, params: Params) -> Json:
        session = await self._find(params)
        await self._options_of(session.id).set_mode(str(params.get("modeId")))
        return {}

    async def _set_option(self, params: Params) -> Json:
        options = self._options_of((await self._find(params)).id)
        await options.set_option(str(params.get("configId")), params.get("value"))
        return {"configOptions": await options.list_options()}

    # prompts
    async def _prompt(self, params: Params) -> Json:
        text, files = parse_prompt(params.get("prompt"))
        session = await take_session(self._service, await self._find(params), self._by)
        if session.id in self._prompts:
            raise BadInput("A prompt is being answered in this session.", hint="Cancel it, or wait for its end.")
        prompt = self._prompts[session.id] = PromptTurn(self._rpc, self._service, self._by, self._send)
        try:
            attached = [
                await self._service.attach(session.id, one.data, media_type=one.media_type, name=one.name)
                for one in files
            ]
            request = TurnRequest(text=text, attachments=tuple(attached), runtime=self._options_of(session.id).runtime)
            self._unused.discard(session.id)
            answer = await prompt.run(session.id, request)
        finally:
            del self._prompts[session.id]
        await self._send_title(session)
        return answer

    async def _send_title(self, before: Session) -> None:
        after = await self._service.get(before.id)
        if after.title and after.title != before.title:
            self._send(before.id, {"sessionUpdate": "session_info_update", "title": after.title})


def _require_folder(params: Params) -> str:
    cwd = params.get("cwd")
    if not isinstance(cwd, str) or not Path(cwd).is_absolute():
        raise BadInput(f"The folder {cwd!r} is not an absolute path.", hint="Open a project first.")
    if not Path(cwd).is_dir():
        raise BadInput(f"The folder {cwd} is not there.", hint="Open another project.")
    return cwd


def _parse_cursor(cursor: str) -> tuple[float, str]:
    stamp, _, session = cursor.partition(" ")
    try:
        return float(stamp), session
    except ValueError as error:
        raise BadInput(f"The cursor {cursor!r} is not one of ours.", hint="Ask for the list again.") from error
