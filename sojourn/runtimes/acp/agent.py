"""An agent that is running: who it is, which sessions it has open, and who listens to each of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from sojourn import __version__
from sojourn.core.errors import KeyRefused, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable, SojournError
from sojourn.core.messages import Json
from sojourn.runtimes.acp.jsonrpc import METHOD_NOT_FOUND, ConnectionClosed, JsonRpcConnection, Params, RpcError
from sojourn.runtimes.acp.process import AgentProcess
from sojourn.runtimes.acp.settings import PLUGIN, AcpSettings

logger = logging.getLogger(__name__)

PROTOCOL = 1
AUTH_REQUIRED = -32000
Permit = Callable[[Params], Awaitable[Json]]


class Listener:
    """Who runs a prompt: updates come into the queue in order, questions are answered by `permit`."""

    def __init__(self, permit: Permit) -> None:
        self.updates: asyncio.Queue[Params | None] = asyncio.Queue()  # None: the prompt is over
        self.permit = permit


class AcpAgent:
    """One life of the agent's process, introduced and ready. Many sessions may be open in it."""

    def __init__(self, process: AgentProcess, settings: AcpSettings) -> None:
        self._process, self._settings = process, settings
        self._wire = JsonRpcConnection(process.reader, process.writer, noted=self._noted, asked=self._asked)
        self._listeners: dict[str, Listener] = {}
        self.open: set[str] = set()  # sessions it has open
        self.models: dict[str, list[str]] = {}  # which models a session may use, where it told
        self.agent_id, self.version = "", ""  # what it calls itself to other programs
        self.name = settings.name or "The agent"  # and to people
        self._can: Params = {}
        self._ways_in: list[str] = []

    @classmethod
    async def start(cls, settings: AcpSettings, cwd: Path, environment: Mapping[str, str] | None) -> AcpAgent:
        agent = cls(await AgentProcess.start(settings.command, cwd, environment), settings)
        try:
            await agent._introduce()
        except BaseException:
            await asyncio.shield(asyncio.create_task(agent.close()))
            raise
        return agent

    async def _introduce(self) -> None:
        told = await self.call(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
                "clientInfo": {"name": "sojourn", "title": "Sojourn", "version": __version__},
            },
        )
        if told.get("protocolVersion") != PROTOCOL:
            raise RuntimeFailed(
                f"{self.name} speaks version {told.get('protocolVersion')} of the protocol, we speak {PROTOCOL}.",
                hint="Update the agent, or Sojourn.",
            )
        self._can = _table(told.get("agentCapabilities"))
        info = _table(told.get("agentInfo"))
        self.agent_id = str(info.get("name") or "")
        self.name = self._settings.name or str(info.get("title") or info.get("name") or "The agent")
        self.version = str(info.get("version") or "")
        ways = told.get("authMethods")
        self._ways_in = [str(_table(one).get("name") or "") for one in ways] if isinstance(ways, list) else []

    @property
    def alive(self) -> bool:
        return self._process.alive and not self._wire.gone

    @property
    def process_id(self) -> int:
        return self._process.id

    @property
    def can_load(self) -> bool:
        return bool(self._can.get("loadSession"))

    @property
    def takes_images(self) -> bool:
        return bool(_table(self._can.get("promptCapabilities")).get("image"))

    async def call(self, method: str, params: Params) -> Params:
        """A request that is answered soon. What goes wrong comes as our error."""
        seconds = self._settings.start_seconds
        try:
            async with asyncio.timeout(seconds):
                return _table(await self._wire.call(method, params))
        except TimeoutError as error:
            raise RuntimeTimeout(
                f"{self.name} did not answer {method} within {seconds:g} seconds.",
                hint=f"Try it by hand, or raise `start_seconds` under [plugins.{PLUGIN}].",
            ) from error
        except (RpcError, ConnectionClosed) as error:
            raise await self.failure(error) from error

    async def failure(self, error: RpcError | ConnectionClosed) -> SojournError:
        if isinstance(error, ConnectionClosed):
            if "does not speak" in str(error):
                return RuntimeFailed(
                    f"{self.name}: {error}.",
                    hint=f"Check `command` under [plugins.{PLUGIN}]: it often needs an option.",
                )
            return RuntimeUnreachable(
                f"{self.name} is gone: {error} ({await self._process.obituary()}).",
                hint="It is started again with the next turn; its log lines are in Sojourn's log.",
            )
        if error.code == AUTH_REQUIRED:
            ways = ", ".join(filter(None, self._ways_in)) or "see its manual"
            return KeyRefused(f"{self.name} wants you to sign in first: {error.words}.", hint=f"Ways in: {ways}.")
        return RuntimeFailed(f"{self.name} refused: {error.words}.", hint="Its log lines are in Sojourn's log.")

    # sessions
    async def new_session(self, cwd: Path) -> str:
        told = await self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        session = told.get("sessionId")
        if not isinstance(session, str) or not session:
            raise RuntimeFailed(f"{self.name} opened a session without naming it.", hint="Update the agent.")
        self._opened(session, told)
        return session

    async def load_session(self, session: str, cwd: Path) -> bool:
        """False: it no longer has it, or cannot. What it replays of the past goes by unheard."""
        if session in self.open:
            return True
        if not self.can_load:
            return False
        try:
            async with asyncio.timeout(self._settings.start_seconds):
                params: Params = {"sessionId": session, "cwd": str(cwd), "mcpServers": []}
                self._opened(session, _table(await self._wire.call("session/load", params)))
        except (RpcError, TimeoutError) as error:
            logger.info("%s does not have session %s any more: %s", self.name, session, error)
            return False
        except ConnectionClosed as error:
            raise await self.failure(error) from error
        return True

    def _opened(self, session: str, told: Params) -> None:
        self.open.add(session)
        offered = _table(told.get("models")).get("availableModels")
        if isinstance(offered, list):
            self.models[session] = [str(_table(one).get("modelId") or "") for one in offered]

    async def choose(self, session: str, model: str) -> str:
        """The model that will answer. One the agent does not offer is for another runtime: it keeps its own."""
        if not model or model not in self.models.get(session, ()):
            return ""
        await self.call("session/set_model", {"sessionId": session, "modelId": model})
        return model

    # a prompt
    def prompt(self, session: str, content: list[Params], listener: Listener) -> asyncio.Task[Json]:
        """Runs until the agent says that the turn is over; the listener hears it, and that it is over."""
        self._listeners[session] = listener
        task = asyncio.create_task(self._wire.call("session/prompt", {"sessionId": session, "prompt": content}))
        task.add_done_callback(lambda _: listener.updates.put_nowait(None))
        return task

    def cancel(self, session: str) -> None:
        self._wire.note("session/cancel", {"sessionId": session})

    def is_busy(self, *, besides: Listener) -> bool:
        return any(one is not besides for one in self._listeners.values())

    def unlisten(self, session: str, listener: Listener) -> None:
        if self._listeners.get(session) is listener:
            del self._listeners[session]

    def _noted(self, method: str, params: Params) -> None:
        listener = self._listeners.get(str(params.get("sessionId")))
        update = params.get("update")
        if method == "session/update" and listener is not None and isinstance(update, dict):
            listener.updates.put_nowait(update)

    async def _asked(self, method: str, params: Params) -> Json:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"{method} is not offered here")
        listener = self._listeners.get(str(params.get("sessionId")))
        return await listener.permit(params) if listener else {"outcome": {"outcome": "cancelled"}}

    async def close(self) -> None:
        await self._wire.close()
        await self._process.close()


def _table(value: Json) -> Params:
    return value if isinstance(value, dict) else {}
