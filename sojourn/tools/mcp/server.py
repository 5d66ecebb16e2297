"""Connection to one MCP server: opened on the first call, reopened after a failure, closed at the end.

All of this runs in the event loop of the hub (hub.py).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from sojourn.core.errors import BadConfig, PlatformDown, SojournError
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.processes.supervisor import GRACE_SECONDS, Watch, start
from sojourn.sandbox.enforcement import confine
from sojourn.sandbox.policy import build_policy, confined_environment
from sojourn.tools.command_sandbox import read_limits
from sojourn.tools.mcp.server_log import ServerLog

SERVER_KEYS = {
    *("command", "args", "env", "cwd", "url", "headers", "trusted", "seconds"),
    *("network", "read", "write", "sandbox"),
}
MAX_PAGES = 50  # of a listing
_CONNECTION_ERRORS = (OSError, httpx2.HTTPError, anyio.ClosedResourceError, anyio.BrokenResourceError, ExceptionGroup)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """How a server is reached, as [plugins.mcp.servers.<name>] says."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    trusted: bool = False  # its word is taken for which tools only read
    seconds: float = 20.0
    network: bool = False  # the program may reach the network
    read: tuple[str, ...] = ()  # folders it may read besides the system's
    write: tuple[str, ...] = ()  # folders it may change
    sandbox: bool = True  # False: the owner wants it to run unconfined

    @property
    def fingerprint(self) -> str:
        """Changes with the configuration; what was listed for another one is not used."""
        configuration = json.dumps([self.command, self.args, dict(self.env), self.cwd, self.url])
        return hashlib.sha256(configuration.encode()).hexdigest()


def parse_server(name: str, table: Any, seconds: float) -> McpServer:
    """Parses the table of a server. BadConfig."""
    where = f"[plugins.mcp.servers.{name}]"
    if not isinstance(table, Mapping) or not re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name):
        raise BadConfig(
            f"{where} is not a server.", hint="Its name has letters, digits, - and _; its keys stand below."
        )
    if unknown := set(table) - SERVER_KEYS:
        raise BadConfig(
            f"{where} has no setting `{sorted(unknown)[0]}`.", hint=f"There are: {', '.join(sorted(SERVER_KEYS))}."
        )
    if bool(table.get("command")) == bool(table.get("url")):
        raise BadConfig(f"{where} needs either `command` or `url`.", hint='command = "npx", or url = "https://…".')
    texts = {key: str(table.get(key, "")) for key in ("command", "cwd", "url")}
    tables = {key: {str(k): str(v) for k, v in dict(table.get(key, {})).items()} for key in ("env", "headers")}
    lists: dict[str, tuple[str, ...]] = {}
    for key in ("args", "read", "write"):
        found = table.get(key, ())
        if isinstance(found, str) or not all(isinstance(one, (str, int, float)) for one in found):
            raise BadConfig(f"{where} `{key}` is not a list of texts.", hint='args = ["-y", "some-server"]')
        lists[key] = tuple(map(str, found))
    return McpServer(
        name=name,
        trusted=table.get("trusted") is True,
        network=table.get("network") is True,
        sandbox=table.get("sandbox", True) is not False,
        seconds=float(table.get("seconds", seconds)),
        **lists,  # type: ignore[arg-type]
        **texts,  # type: ignore[arg-type]
        **tables,  # type: ignore[arg-type]
    )


def require_distinct_name(name: str, others: Iterable[str]) -> None:
    """BadConfig if tools of two servers could have one name: `a` with `b_c`, and `a_b` with `c`."""
    mine = f"{name.lower()}_"
    for other in others:
        theirs = f"{other.lower()}_"
        if other != name and (mine.startswith(theirs) or theirs.startswith(mine)):
            raise BadConfig(
                f'The MCP servers "{name}" and "{other}" could offer tools of the same name.',
                hint="Rename one of them in config.toml, so that neither name begins with the other and a _.",
            )


class McpConnection:
    """The connection to one server. One task opens and closes it; calls come from anywhere in the loop."""

    def __init__(self, server: McpServer, settings: Settings) -> None:
        self.server, self._settings = server, settings
        self._log = settings.home / "logs" / f"mcp-{server.name}.log"
        self._client: Client | None = None
        self._opening: asyncio.Future[Client] | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def tools(self) -> list[dict[str, Json]]:
        """Lists the tools that the server offers now. PlatformDown."""
        listed: list[dict[str, Json]] = []
        async with self._connected(self.server.seconds) as client:
            cursor: str | None = None
            for _ in range(MAX_PAGES):
                page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                listed += [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in page.tools]
                cursor = page.next_cursor
                if not cursor:
                    break
        return listed

    async def call(self, tool: str, arguments: Mapping[str, Json], seconds: float) -> tuple[str, bool]:
        """Calls a tool; returns its output, and whether it worked. PlatformDown."""
        async with self._connected(seconds) as client:
            answer = await client.call_tool(tool, dict(arguments))
        blocks = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in answer.content]
        text = "\n".join(map(_render_block, blocks))
        if not text and answer.structured_content is not None:
            text = json.dumps(answer.structured_content, ensure_ascii=False, indent=1)
        return text or "(no output)", not answer.is_error

    @asynccontextmanager
    async def _connected(self, seconds: float) -> AsyncIterator[Client]:
        """Yields an open connection for a while; translates its errors, after which it is opened again."""
        name = self.server.name
        try:
            async with asyncio.timeout(seconds):
                yield await self._open()
        except TimeoutError as error:
            await self.close()
            raise PlatformDown(
                f'The MCP server "{name}" did not answer within {seconds:g} seconds.', hint=self._log_tail()
            ) from error
        except MCPError as error:
            if self._task is None or self._task.done() or "closed" in str(error).lower():
                await self.close()
                raise PlatformDown(f'The MCP server "{name}" has ended: {error}.', hint=self._log_tail()) from error
            raise SojournError(f'The MCP server "{name}" refused: {error}.', hint="Correct the call.") from error
        except _CONNECTION_ERRORS as error:
            await self.close()
            raise PlatformDown(
                f'The MCP server "{name}" cannot be used: {_root_message(error)}.', hint=self._log_tail()
            ) from error

    async def _open(self) -> Client:
        if self._task is None or self._task.done():
            self._stop, self._opening = asyncio.Event(), asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._hold_open(self._opening, self._stop))
        assert self._opening is not None
        return await asyncio.shield(self._opening)

    async def _hold_open(self, opening: asyncio.Future[Client], stop: asyncio.Event) -> None:
        try:
            async with self._transport() as transport, Client(transport) as client:
                opening.set_result(client)
                await stop.wait()
        except BaseException as error:
            if not opening.done():
                opening.set_exception(error if isinstance(error, Exception) else ConnectionError("it was stopped"))
                opening.exception()  # somebody may have stopped waiting for it
            if isinstance(error, asyncio.CancelledError):
                raise

    @asynccontextmanager
    async def _transport(self) -> AsyncIterator[AbstractAsyncContextManager[Any]]:
        if self.server.url:
            limits = httpx2.Timeout(self.server.seconds, read=None)
            async with httpx2.AsyncClient(headers=dict(self.server.headers), timeout=limits) as http:
                yield streamable_http_client(self.server.url, http_client=http)
            return
        with ServerLog(self._log) as log:
            yield connect_stdio(self.server, self._settings, log.write)

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        self._stop.set()
        await asyncio.wait([task], timeout=8)
        if not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=8)

    def _log_tail(self) -> str:
        try:
            lines = self._log.read_text("utf-8", "replace").strip().splitlines()[-3:]
        except OSError:
            lines = []
        if not lines:
            return "Check [plugins.mcp.servers] in config.toml."
        return "Its last output: " + " / ".join(lines)[-500:]


@asynccontextmanager
async def connect_stdio(
    server: McpServer, settings: Settings, log: Callable[[bytes], Any]
) -> AsyncIterator[tuple[Any, Any]]:
    """Starts a server and yields the streams of its messages, one JSON text per line. `log` gets its stderr."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-"))
    argv, environment = _confine_server(server, settings, folder)
    child = await start(argv, cwd=server.cwd or folder, env=environment, connect="streams", watch=Watch(folder=folder))
    child.on_output = log
    received, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def read_messages() -> None:
        async with received:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for line in child.reader:
                    await received.send(_parse_message(line))

    async def write_messages() -> None:
        async with sent:
            async for message in sent:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                child.writer.write(text.encode() + b"\n")
                with suppress(ConnectionError):
                    await child.writer.drain()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read_messages)
        tasks.start_soon(write_messages)
        try:
            yield from_server, to_server
        finally:
            with anyio.CancelScope(shield=True):
                child.writer.close()  # the protocol's way to end a server
                await child.wait(GRACE_SECONDS)
                await child.end()
                await from_server.aclose()
                await to_server.aclose()
            tasks.cancel_scope.cancel()


def _confine_server(server: McpServer, settings: Settings, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command line and environment that start a server in its sandbox. NotAllowed where there is none."""
    argv, environment = [server.command, *server.args], get_default_environment() | dict(server.env)
    if not server.sandbox:
        return argv, environment
    home = settings.user_home
    read = tuple(_expand(one, home) for one in (*server.read, *([server.cwd] if server.cwd else [])))
    policy = build_policy(
        folder,
        folder,
        sojourn_home=settings.home,
        user_home=home,
        more_read=read,
        more_write=tuple(_expand(one, home) for one in server.write),
        network=server.network,
        limits=read_limits(settings),
    )
    return confine(argv, policy), confined_environment(environment, folder)


def _expand(path: str, home: Path) -> Path:
    return (home / path[2:] if path.startswith("~/") else Path(path)).absolute()


def _parse_message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode("utf-8", "replace"), by_name=False))
    except ValueError as error:
        return error


def _root_message(error: BaseException) -> str:
    """Returns the message of the first error; task groups wrap it several times."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _render_block(block: Mapping[str, Json]) -> str:
    if block.get("type") == "text":
        return str(block["text"])
    if block.get("type") in ("image", "audio"):
        return f"[{block['type']} {block.get('mimeType', '')}, {len(str(block.get('data', ''))) * 3 // 4} bytes]"
    inner = block.get("resource", block)
    return str(inner.get("text") or f"[{block.get('type', 'part')} {inner.get('uri', '')}]")
