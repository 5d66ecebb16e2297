"""A running agent: its process, its capabilities, its open sessions, and the listener of each prompt."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn import __version__
from sojourn.core.errors import BadConfig, KeyRefused, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.messages import Json
from sojourn.jsonrpc import (
    METHOD_NOT_FOUND,
    ConnectionClosed,
    JsonRpcConnection,
    Params,
    RpcError,
    as_object,
    list_objects,
)
from sojourn.processes.supervisor import GRACE_SECONDS, ChildProcess, OutputBuffer, start
from sojourn.runtimes.acp import PLUGIN, AcpSettings
from sojourn.text.ansi import strip_control

logger = logging.getLogger(__name__)

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000  # JSON-RPC error code
_STDERR_TAIL_BYTES = 16 * 1024
Permit = Callable[[Params], Awaitable[Json]]


def split_command(command: str) -> list[str]:
    """Splits the configured command into a program and its arguments. BadConfig."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadConfig(f"[plugins.{PLUGIN}] command is {command!r}: {error}.", hint="Check its quotes.") from error
    if not words:
        raise BadConfig(
            "No agent is set for the runtime acp.",
            hint=f'Name its program, for example: sojourn config set plugins.{PLUGIN}.command "hermes acp"',
        )
    return words


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedModels:
    """The models that an agent offers for a session, and the option that sets one; "" for agents of before."""

    names: tuple[str, ...] = ()
    option: str = ""


class Listener:
    """Receives the updates of one prompt in order; `permit` answers the agent's questions."""

    def __init__(self, permit: Permit) -> None:
        self.updates: asyncio.Queue[Params | None] = asyncio.Queue()  # None: the prompt has ended
        self.permit = permit


class AcpAgent:
    """One agent process after its handshake; it may have many sessions open. Its stderr goes to the log."""

    def __init__(self, child: ChildProcess, settings: AcpSettings) -> None:
        self._child, self._settings = child, settings
        child.on_output = self._log_stderr
        self._rpc = JsonRpcConnection(
            child.reader, child.writer, on_notification=self._on_notification, on_request=self._on_request
        )
        self._listeners: dict[str, Listener] = {}
        self.open: set[str] = set()  # ids of its open sessions
        self.models: dict[str, OfferedModels] = {}  # of each open session
        self.agent_id, self.version = "", ""  # its machine-readable name
        self.name = settings.name or "The agent"  # its name on screen
        self._capabilities: Params = {}
        self._auth_methods: list[str] = []

    @classmethod
    async def start(cls, settings: AcpSettings, cwd: Path, environment: Mapping[str, str] | None) -> AcpAgent:
        """Starts the configured command and shakes hands with it."""
        agent = cls(await _start_child(settings.command, cwd, environment), settings)
        try:
            await agent._initialize()
        except BaseException:
            await asyncio.shield(asyncio.create_task(agent.close()))
            raise
        return agent

    async def _initialize(self) -> None:
        answer = await self.call(
            "initialize",
            {
                "protocolVersion": PROTOCOL_VERSION,
                "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
                "clientInfo": {"name": "sojourn", "title": "Sojourn", "version": __version__},
            },
        )
        if answer.get("protocolVersion") != PROTOCOL_VERSION:
            raise RuntimeFailed(
                f"{self.name} speaks version {answer.get('protocolVersion')} of the protocol, not {PROTOCOL_VERSION}.",
                hint="Update the agent, or Sojourn.",
            )
        self._capabilities = as_object(answer.get("agentCapabilities"))
        info = as_object(answer.get("agentInfo"))
        self.agent_id = str(info.get("name") or "")
        self.name = self._settings.name or str(info.get("title") or info.get("name") or "The agent")
        self.version = str(info.get("version") or "")
        self._auth_methods = [str(one["name"]) for one in list_objects(answer.get("authMethods")) if one.get("name")]

    @property
    def alive(self) -> bool:
        return self._child.is_running and not self._rpc.closed_because

    @property
    def can_load(self) -> bool:
        return bool(self._capabilities.get("loadSession"))

    @property
    def can_resume(self) -> bool:
        """Whether it continues a session without replaying it."""
        return as_object(self._capabilities.get("sessionCapabilities")).get("resume") is not None

    @property
    def takes_images(self) -> bool:
        return bool(as_object(self._capabilities.get("promptCapabilities")).get("image"))

    async def call(self, method: str, params: Params) -> Params:
        """Sends a request with a timeout; raises Sojourn's errors."""
        seconds = self._settings.start_seconds
        try:
            async with asyncio.timeout(seconds):
                return as_object(await self._rpc.call(method, params))
        except TimeoutError as error:
            raise RuntimeTimeout(
                f"{self.name} did not answer {method} within {seconds:g} seconds.",
                hint=f"Try it by hand, or raise `start_seconds` under [plugins.{PLUGIN}].",
            ) from error
        except (RpcError, ConnectionClosed) as error:
            raise await self.to_error(error) from error

    async def to_error(self, error: RpcError | ConnectionClosed) -> RuntimeFailed:
        if isinstance(error, ConnectionClosed):
            if "does not speak" in str(error):
                return RuntimeFailed(
                    f"{self.name}: {error}.",
                    hint=f"Check `command` under [plugins.{PLUGIN}]: it often needs an option.",
                )
            return RuntimeUnreachable(
                f"{self.name} has exited: {error} ({await self._describe_exit()}).",
                hint="The next turn starts it again; its log lines are in Sojourn's log.",
            )
        why = str(error).rstrip(".")
        if error.rpc_code == AUTH_REQUIRED:
            ways = ", ".join(self._auth_methods) or "see its manual"
            return KeyRefused(f"{self.name} requires you to sign in first: {why}.", hint=f"Sign in by: {ways}.")
        return RuntimeFailed(f"{self.name} refused: {why}.", hint="Its log lines are in Sojourn's log.")

    def _log_stderr(self, data: bytes) -> None:
        for line in strip_control(data.decode("utf-8", "replace")).splitlines():
            if line.strip():
                logger.info("agent %s: %s", self._child.pid, line.strip()[:2000])

    async def _describe_exit(self) -> str:
        """Describes how the process ended, with the last line of its stderr."""
        await self._child.wait(1.0)
        code = self._child.process.returncode
        how = "it is still running" if code is None else f"exit code {code}" if code >= 0 else f"signal {-code}"
        lines = [line.strip() for line in strip_control(self._child.output.text()).splitlines() if line.strip()]
        return f"{how}; its last output: {lines[-1][:300]}" if lines else how

    # sessions
    async def new_session(self, cwd: Path) -> str:
        answer = await self.call("session/new", {"cwd": str(cwd), "mcpServers": []})
        session = answer.get("sessionId")
        if not isinstance(session, str) or not session:
            raise RuntimeFailed(f"{self.name} opened a session without an id.", hint="Update the agent.")
        self._add_session(session, answer)
        return session

    async def load_session(self, session: str, cwd: Path) -> bool:
        """Continues a session; False when the agent no longer has it or cannot. Replayed messages are ignored."""
        if session in self.open:
            return True
        if not (self.can_resume or self.can_load):
            return False
        method = "session/resume" if self.can_resume else "session/load"
        try:
            answer = await self.call(method, {"sessionId": session, "cwd": str(cwd), "mcpServers": []})
        except RuntimeUnreachable:
            raise
        except RuntimeFailed as error:
            logger.info("%s does not have session %s any more: %s", self.name, session, error)
            return False
        self._add_session(session, answer)
        return True

    def _add_session(self, session: str, answer: Params) -> None:
        self.open.add(session)
        self.models[session] = find_models(answer)

    async def choose_model(self, session: str, model: str) -> str:
        """Sets the model and returns it; "" when the agent does not offer it and keeps its own."""
        offered = self.models.get(session, OfferedModels())
        if not model or model not in offered.names:
            return ""
        if offered.option:
            params = {"sessionId": session, "configId": offered.option, "value": model}
            await self.call("session/set_config_option", params)
        else:
            await self.call("session/set_model", {"sessionId": session, "modelId": model})
        return model

    # a prompt
    def start_prompt(self, session: str, content: list[Params], listener: Listener) -> asyncio.Task[Json]:
        """Starts a prompt; the listener receives its updates, then None."""
        self._listeners[session] = listener
        task = asyncio.create_task(self._rpc.call("session/prompt", {"sessionId": session, "prompt": content}))
        task.add_done_callback(lambda _: listener.updates.put_nowait(None))
        return task

    def cancel(self, session: str) -> None:
        self._rpc.notify("session/cancel", {"sessionId": session})

    def is_busy(self, *, besides: Listener) -> bool:
        return any(one is not besides for one in self._listeners.values())

    def remove_listener(self, session: str, listener: Listener) -> None:
        if self._listeners.get(session) is listener:
            del self._listeners[session]

    def _on_notification(self, method: str, params: Params) -> None:
        listener = self._listeners.get(str(params.get("sessionId")))
        update = params.get("update")
        if method == "session/update" and listener is not None and isinstance(update, dict):
            listener.updates.put_nowait(update)

    async def _on_request(self, method: str, params: Params) -> Json:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"{method} is not supported")
        listener = self._listeners.get(str(params.get("sessionId")))
        return await listener.permit(params) if listener else {"outcome": {"outcome": "cancelled"}}

    async def close(self) -> None:
        """Closes stdin, which ends a well-behaved agent; then ends its whole process tree."""
        await self._rpc.close()
        self._child.writer.close()
        await self._child.wait(GRACE_SECONDS)
        await self._child.end()


def find_models(answer: Params) -> OfferedModels:
    """The models that an opened session offers: as an option of it, or in the list of agents of before."""
    for option in list_objects(answer.get("configOptions")):
        if option.get("type") == "select" and "model" in (option.get("category"), option.get("id")):
            choices = list_objects(option.get("options"))
            choices += [one for group in choices for one in list_objects(group.get("options"))]
            names = tuple(one["value"] for one in choices if isinstance(one.get("value"), str))
            return OfferedModels(names=names, option=str(option.get("id") or ""))
    offered = list_objects(as_object(answer.get("models")).get("availableModels"))
    return OfferedModels(names=tuple(str(one.get("modelId") or "") for one in offered))


async def _start_child(command: str, cwd: Path, environment: Mapping[str, str] | None) -> ChildProcess:
    words = split_command(command)
    if not cwd.is_dir():
        raise RuntimeFailed(f"The folder {cwd} does not exist.", hint="Choose another one for this session.")
    try:
        child = await start(
            words, cwd=cwd, env=environment, connect="streams", output=OutputBuffer(0, _STDERR_TAIL_BYTES)
        )
    except OSError as error:
        raise RuntimeUnreachable(
            f"The agent `{words[0]}` cannot be started: {error.strerror or error}.",
            hint=f"Install it, or correct `command` under [plugins.{PLUGIN}].",
        ) from error
    logger.info("started agent %s as process %s", words[0], child.pid)
    return child
