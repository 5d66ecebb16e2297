"""Finding the server of a home: `server.json` says where it is, and asking shows whether it still is."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import httpx2

_FILE = "server.json"
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where a server is, and the token it wants to see."""

    address: str
    token: str
    pid: int = 0


def announced(home: Path) -> Server | None:
    """What `server.json` says; None when there is nothing readable."""
    try:
        found = json.loads((home / _FILE).read_text("utf-8"))
        return Server(address=str(found["address"]), token=str(found["token"]), pid=int(found["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


async def find_server(home: Path) -> Server | None:
    """The server that runs for this home. What a dead one left behind does not count."""
    said = announced(home)
    return said if said is not None and _is_there(said.pid) and await _is_answering(said) else None


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True  # somebody else's
    except (OSError, OverflowError):
        return False
    return True


async def _is_answering(said: Server) -> bool:
    try:
        async with httpx2.AsyncClient(trust_env=False, timeout=_PATIENCE) as line:
            return "version" in (await line.get(f"{said.address}/healthz")).json()
    except httpx2.TimeoutException:
        return True  # busy is not gone
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError):
        return False
