"""A small MCP server: `mcp_server.py stdio`, or `mcp_server.py http <file for its port>`."""

import asyncio
import os
import socket
import sys
import time
from pathlib import Path

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

server = MCPServer("small")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"the sum is {a + b}"


@server.tool()
def environment() -> str:
    """Names the variables it sees."""
    return " ".join(sorted(f"{name}={value}" for name, value in os.environ.items()))


@server.tool()
async def sleep(seconds: float) -> str:
    """Takes its time."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(3)


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("not today")


@server.tool()
def pid() -> str:
    """Its process number."""
    return str(os.getpid())


def main() -> None:
    if sys.argv[1] == "mute":
        time.sleep(600)
    if sys.argv[1] == "broken":
        print("I cannot start: no licence", file=sys.stderr)
        sys.exit(1)
    if sys.argv[1] == "stdio":
        server.run(transport="stdio")
        return
    listening = socket.create_server(("127.0.0.1", 0))
    Path(sys.argv[2]).write_text(str(listening.getsockname()[1]))
    config = uvicorn.Config(server.streamable_http_app(), log_level="warning")
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
