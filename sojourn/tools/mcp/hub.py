"""Hub of all MCP servers, in a thread with its own event loop: tools are listed where nothing can be awaited, and
called from any event loop. The tools of a server are cached in `<home>/mcp/`, so that it is started only when one of
them is used, or when its configuration has changed."""

from __future__ import annotations

import asyncio
import copy
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
from sojourn.ports.app import PluginAccess
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tools.mcp.known_listings import KnownListings
from sojourn.tools.mcp.server import McpConnection, McpServer, parse_server, require_distinct_name

logger = logging.getLogger(__name__)
T = TypeVar("T")
MAX_NAME_CHARS = 64  # characters of a tool's name that every model provider takes


class McpHub:
    """The connections to all servers, and the tools they list."""

    def __init__(self, app: PluginAccess) -> None:
        self._home: Path = app.settings.home
        self._known = KnownListings(self._home)
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mcp", daemon=True)
        self._thread.start()
        self._connections: dict[str, McpConnection] = {}
        self._listings: dict[str, list[dict[str, Json]]] = {}
        self._refreshed: set[str] = set()  # listed again by this process
        self.problems: dict[str, SojournError] = {}
        self._app, self._tables = app, dict[str, Any]()  # the configuration that is in force, by server
        self.follow_settings()

    def follow_settings(self) -> None:
        """Takes over servers that were added, and closes those that were changed or removed."""
        settings = self._app.configured("mcp")
        for name in [name for name, table in self._tables.items() if settings.servers.get(name) != table]:
            if (connection := self._connections.pop(name, None)) is not None:
                asyncio.run_coroutine_threadsafe(connection.close(), self._loop)
            for known in (self._listings, self.problems, self._tables):
                known.pop(name, None)
            self._refreshed.discard(name)
        for name, table in settings.servers.items():
            if name in self._tables:
                continue
            self._tables[name] = copy.deepcopy(table)
            try:
                require_distinct_name(name, settings.servers)
                server = parse_server(name, table, settings.seconds)
            except SojournError as error:
                self._report(name, error)
                continue
            self._connections[name] = McpConnection(server, self._app.settings)

    async def _run_in_hub(self, what: Coroutine[Any, Any, T]) -> T:
        """Awaits a coroutine of the hub's loop from another loop; cancelling cancels both."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(what, self._loop))

    def _report(self, name: str, error: SojournError) -> None:
        logger.warning("MCP server %s: %s %s", name, error, error.hint)
        self.problems[name] = error

    def tools(self) -> list[Tool]:
        """Builds the tools of all servers that work, and for each of the others one that says why it does not."""
        with self._lock:
            self.follow_settings()
            answers = {
                name: asyncio.run_coroutine_threadsafe(connection.tools(), self._loop)
                for name, connection in self._connections.items()
                if name not in self.problems and not self._load_listing(connection.server)
            }
            for name, answer in answers.items():
                try:
                    self._record_listing(self._connections[name].server, answer.result())
                except SojournError as error:
                    self._report(name, error)
        working = [tool for name in self._listings for tool in self._build_tools(name)]
        return working + [self._build_retry_tool(name) for name in self.problems]

    def _load_listing(self, server: McpServer) -> bool:
        if server.name in self._listings:
            return True
        try:
            cached = json.loads(self._listing_file(server).read_text("utf-8"))
            if cached["fingerprint"] != server.fingerprint:
                return False
            self._listings[server.name] = cached["tools"]
        except (OSError, ValueError, KeyError, TypeError):
            return False  # never listed, or no longer readable: it is asked
        return True

    def _record_listing(self, server: McpServer, tools: list[dict[str, Json]]) -> None:
        self._listings[server.name] = tools
        self._refreshed.add(server.name)
        self.problems.pop(server.name, None)
        self._save_listing(server, tools)

    def _save_listing(self, server: McpServer, tools: list[dict[str, Json]]) -> None:
        file = self._listing_file(server)
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_text(json.dumps({"fingerprint": server.fingerprint, "tools": tools}), "utf-8")
        except OSError as error:
            logger.warning("cannot cache the tools of MCP server %s: %s", server.name, error)

    def _listing_file(self, server: McpServer) -> Path:
        return self._home / "mcp" / f"{server.name}.json"

    def _build_tools(self, server: str) -> list[Tool]:
        connection, listings, names = self._connections[server], self._listings[server], set[str]()
        changed = self._known.find_changed(connection.server, listings)
        return [
            self._build_changed_tool(connection, one, tool_name(server, str(one["name"]), names))
            if one["name"] in changed
            else self._build_tool(connection, one, tool_name(server, str(one["name"]), names))
            for one in listings
        ]

    def _build_changed_tool(self, connection: McpConnection, listing: Mapping[str, Json], called: str) -> Tool:
        """A stand-in for a tool whose words the person has not seen. The model does not see them before the person."""
        name = connection.server.name

        def asks(_: Workspace, __: Mapping[str, Json]) -> Question:
            text = f'A tool of the MCP server "{name}" is new or describes itself differently. Use it as it is now?'
            return Question(id="", text=text, detail=json.dumps(listing, ensure_ascii=False, indent=1), dangerous=True)

        async def run(_: Workspace, __: Mapping[str, Json]) -> ToolResult:
            self._known.accept(connection.server, listing)
            return ToolResult(text="The person allows it. It can be used from the next turn on.")

        about = f'A tool of the MCP server "{name}" that has changed. Calling it asks the person to look at the change.'
        return Tool(
            name=called,
            description=about,
            parameters={"type": "object", "properties": {}},
            run=run,
            asks=asks,
            effect="runs",
        )

    def _build_tool(self, connection: McpConnection, listing: Mapping[str, Json], called: str) -> Tool:
        original = str(listing["name"])

        async def run(at: Workspace, arguments: Mapping[str, Json]) -> ToolResult:
            text, ok = await self._run_in_hub(connection.call(original, arguments, at.seconds))
            self._refresh_listing(connection)
            return ToolResult(text=text, ok=ok, facts={"server": connection.server.name, "tool": original})

        reads = connection.server.trusted and (listing.get("annotations") or {}).get("readOnlyHint") is True
        schema = listing.get("inputSchema")
        return Tool(
            name=called,
            description=str(listing.get("description") or listing.get("title") or original),
            run=run,
            parameters=schema if isinstance(schema, dict) else {"type": "object"},
            effect="reads" if reads else "runs",
        )

    def _refresh_listing(self, connection: McpConnection) -> None:
        """Refreshes the cached listing once per process, after the first call has started the server."""
        name = connection.server.name
        if name in self._refreshed:
            return
        self._refreshed.add(name)

        async def refresh() -> None:
            self._save_listing(connection.server, await connection.tools())

        asyncio.run_coroutine_threadsafe(refresh(), self._loop)  # if it fails, the old listing stays

    def _build_retry_tool(self, name: str) -> Tool:
        error = self.problems[name]

        async def run(_: Workspace, __: Mapping[str, Json]) -> ToolResult:
            if name not in self._connections:
                raise error
            connection = self._connections[name]
            self._record_listing(connection.server, await self._run_in_hub(connection.tools()))
            offered = ", ".join(str(one["name"]) for one in self._listings[name])
            return ToolResult(text=f"It works now; from the next turn on it offers: {offered}.")

        about = f'The MCP server "{name}" cannot be used: {error} {error.hint} Calling this tries again.'
        return Tool(
            name=tool_name(name, "retry", set()),
            description=about,
            parameters={"type": "object", "properties": {}},
            run=run,
        )

    def list_tool_names(self, name: str) -> list[str] | None:
        """What a server offers, as far as it was asked; None if it was not."""
        return [str(one["name"]) for one in self._listings[name]] if name in self._listings else None

    async def close(self) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(connection.close() for connection in self._connections.values()))

        await self._run_in_hub(all_of_them())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, 10)
        if not self._thread.is_alive():
            self._loop.close()


def tool_name(server: str, tool: str, taken: set[str]) -> str:
    """Returns `mcp_<server>_<tool>` in letters every provider takes; a name too long or taken gets a hash."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{tool}")
    if len(name) > MAX_NAME_CHARS or name in taken:
        name = f"{name[: MAX_NAME_CHARS - 9]}_{hashlib.sha256(tool.encode()).hexdigest()[:8]}"
    taken.add(name)
    return name
