"""`server.json` in the home: how processes on this machine find the running server. Readable by its owner only."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FILE_NAME = "server.json"
_PROBE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The address of a running server and the token it requires."""

    address: str
    token: str
    pid: int = 0
    started_at: str = ""
    version: str = ""


def write_server_file(home: Path, server: Server) -> None:
    """Writes the file atomically, with permissions for its owner only."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = home / f".{FILE_NAME}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(server), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(home / FILE_NAME)


def read_server_file(home: Path) -> Server | None:
    """Reads the file; None when it is missing or unreadable."""
    try:
        values = json.loads((home / FILE_NAME).read_text("utf-8"))
        return Server(
            address=str(values["address"]),
            token=str(values["token"]),
            pid=int(values["pid"]),
            started_at=str(values.get("started_at", "")),
            version=str(values.get("version", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remove_server_file(home: Path, server: Server) -> None:
    """Removes the file, unless another server has replaced it."""
    if read_server_file(home) == server:
        (home / FILE_NAME).unlink(missing_ok=True)


def is_serving(server: Server) -> bool:
    """Tells whether the process is alive and answers `/healthz` as Sojourn does. A server that is slow counts."""
    try:
        os.kill(server.pid, 0)
    except PermissionError:
        pass  # alive, and another user's
    except (OSError, OverflowError):
        return False
    try:
        return "version" in request_json(server, "GET", "/healthz", timeout=_PROBE_SECONDS)
    except TimeoutError:
        return True
    except (OSError, HTTPException, ValueError, TypeError):
        return False


def request_json(server: Server, method: str, path: str, *, timeout: float, token: str = "") -> Any:
    """Sends a request without a body and returns the JSON of the answer. OSError, HTTPException, ValueError.

    token: sent along if given; not before `is_serving`, which finds out whose server it is
    """
    address = urlsplit(server.address)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=timeout)
    headers = {"Content-Length": "0"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request(method, path, headers=headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
