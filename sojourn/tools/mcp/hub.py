"""All MCP servers of a kit, in a thread with an event loop of its own: tools are asked for where nothing can be
awaited, and called from whichever loop a turn runs in. What a server offers is remembered in `<home>/mcp/`, so that
it is started only when one of its tools is used (or when its configuration changed)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import json
import logging
import re
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SojournError
from sojourn.core.messages import Json
from sojourn.ports.kit import Kit
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.tools.mcp.server import McpConnection, McpServer, parse_server

logger = logging.getLogger(__name__)
T = TypeVar("T")
LONGEST = 64  # characters of a tool's name that every model provider takes


class McpHub:
    """The servers, their lines, and what they offer."""

    def __init__(self, kit: Kit) -> None:
        self._home: Path = kit.settings.home
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mcp", daemon=True)
        self._thread.start()
        self._lines: dict[str, McpConnection] = {}
        self._listed: dict[str, list[dict[str, Json]]] = {}
        self._fresh: set[str] = set()  # asked in this process
        self.problems: dict[str, SojournError] = {}
        settings = kit.configured("mcp")
        for name, table in settings.servers.items():
            try:
                server = parse_server(name, table, settings.seconds)
            except SojournError as error:
                self._report(name, error)
                continue
            self._lines[name] = self._call_soon(McpConnection, server, self._home / "logs" / f"mcp-{name}.log")

    def _call_soon(self, make: Any, *given: Any) -> Any:
        """Makes something inside the loop's thread."""

        async def inside() -> Any:
            return make(*given)

        return self._wait(inside())

    def _wait(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result()

    async def _inside(self, what: Coroutine[Any, Any, T]) -> T:
        """The same from another event loop; cancelling here cancels there."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(what, self._loop))

    def _report(self, name: str, error: SojournError) -> None:
        logger.warning("MCP server %s: %s %s", name, error, error.hint)
        self.problems[name] = error

    def tools(self) -> list[Tool]:
        """The tools of all servers that work, and for each of the others one that says why it does not."""
        with self._lock:
            unknown = [line for name, line in self._lines.items() if not self._known(line.server)]
            asked = {
                line.server.name: asyncio.run_coroutine_threadsafe(line.tools(), self._loop)
                for line in unknown
                if line.server.name not in self.problems
            }
            for name, answer in asked.items():
                self._note(name, answer)
        made = [tool for name in self._listed for tool in self._made(name)]
        return made + [self._broken(name) for name in self.problems]

    def _note(self, name: str, answer: concurrent.futures.Future[list[dict[str, Json]]]) -> None:
        try:
            self._remember(self._lines[name].server, answer.result())
        except SojournError as error:
            self._report(name, error)

    def _known(self, server: McpServer) -> bool:
        if server.name in self._listed:
            return True
        try:
            kept = json.loads(self._file(server).read_text("utf-8"))
            if kept["fingerprint"] != server.fingerprint:
                return False
            self._listed[server.name] = kept["tools"]
        except (OSError, ValueError, KeyError, TypeError):
            return False  # never listed, or no longer readable: it is asked
        return True

    def _remember(self, server: McpServer, tools: list[dict[str, Json]]) -> None:
        self._listed[server.name] = tools
        self._fresh.add(server.name)
        self.problems.pop(server.name, None)
        self._keep(server, tools)

    def _keep(self, server: McpServer, tools: list[dict[str, Json]]) -> None:
        file = self._file(server)
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_text(json.dumps({"fingerprint": server.fingerprint, "tools": tools}), "utf-8")
        except OSError as error:
            logger.warning("what MCP server %s offers cannot be kept: %s", server.name, error)

    def _file(self, server: McpServer) -> Path:
        return self._home / "mcp" / f"{server.name}.json"

    def _made(self, server: str) -> list[Tool]:
        line, names = self._lines[server], set[str]()
        return [self._tool(line, one, names) for one in self._listed[server]]

    def _tool(self, line: McpConnection, told: Mapping[str, Json], names: set[str]) -> Tool:
        original = str(told["name"])
        called = tool_name(line.server.name, original, names)

        async def run(at: Workspace, given: Mapping[str, Json]) -> ToolResult:
            text, ok = await self._inside(line.call(original, given, at.seconds))
            self._ask_again(line)
            return ToolResult(text=text, ok=ok, facts={"server": line.server.name, "tool": original})

        reads = line.server.trusted and (told.get("annotations") or {}).get("readOnlyHint") is True
        schema = told.get("inputSchema")
        return Tool(
            name=called,
            description=str(told.get("description") or told.get("title") or original),
            run=run,
            parameters=schema if isinstance(schema, dict) else {"type": "object"},
            effect="reads" if reads else "runs",
        )

    def _ask_again(self, line: McpConnection) -> None:
        """Once per process, when the server runs anyway: what it offers by now is for the next start."""
        name = line.server.name
        if name in self._fresh:
            return
        self._fresh.add(name)
        answer = asyncio.run_coroutine_threadsafe(line.tools(), self._loop)
        answer.add_done_callback(lambda done: self._keep(line.server, done.result()) if _worked(done) else None)

    def _broken(self, name: str) -> Tool:
        error = self.problems[name]

        async def run(_: Workspace, __: Mapping[str, Json]) -> ToolResult:
            if name not in self._lines:
                raise error
            line = self._lines[name]
            self._remember(line.server, await self._inside(line.tools()))
            offered = ", ".join(str(one["name"]) for one in self._listed[name])
            return ToolResult(text=f"It works now; from the next turn on it offers: {offered}.")

        about = f'The MCP server "{name}" cannot be used: {error} {error.hint} Calling this tries again.'
        return Tool(
            name=tool_name(name, "retry", set()),
            description=about,
            parameters={"type": "object", "properties": {}},
            run=run,
        )

    async def close(self) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(line.close() for line in self._lines.values()))

        await self._inside(all_of_them())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, 10)
        if not self._thread.is_alive():
            self._loop.close()


def _worked(done: concurrent.futures.Future[Any]) -> bool:
    return not done.cancelled() and done.exception() is None


def tool_name(server: str, tool: str, taken: set[str]) -> str:
    """`mcp_<server>_<tool>` in letters every provider takes; what is too long or taken gets a number."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) > LONGEST or name in taken:
        name = f"{name[: LONGEST - 9]}_{hashlib.sha256(tool.encode()).hexdigest()[:8]}"
    taken.add(name)
    return name
