"""`server.json` in the home: how processes on this machine find the running server. Readable by its owner only.

The file may be stale, and another program may listen on that port by now. So a server proves that it has the token
before anybody sends it: HMAC-SHA256 of a nonce and of the address of the connection, under the token.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sojourn.core.errors import ServerUnreachable
from sojourn.core.settings import Settings
from sojourn.settings.table import SETTINGS_BY_NAME

try:
    import fcntl as _fcntl
except ImportError:  # Windows: two clients may both start a server; the spare one stops when it is idle
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

FILE_NAME = "server.json"
LOCK_NAME = "server.lock"
PROOF_PATH = "/proof"
STOP_PATH = "/api/server/stop"
NONCE_PATTERN = "^[0-9a-f]{64}$"
_PROBE_SECONDS = 2.0
_MAX_PROOF_BYTES = 4096
_POLL_SECONDS = 0.05
STOP_SECONDS = 10.0  # seconds a server may take to free its address
_VARIABLES = frozenset(setting.variable for setting in SETTINGS_BY_NAME.values())
# What a client may set without meaning another server: where it is, and what its kind decides.
_OF_THE_SERVER = ("home", "server.host", "server.port", "gateway.platforms", "gateway.embedded")


class ProofFailed(OSError):
    """The program at that address does not have our token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The address of a running server and the token it requires."""

    address: str
    token: str
    pid: int = 0
    started_at: str = ""
    version: str = ""
    until_idle: bool = False  # a client started it: it stops when it is idle, and gives way to `sojourn serve`
    overrides: str = ""  # a hash of the settings that its environment and flags set


def hash_overrides(settings: Settings) -> str:
    """A hash of what environment and flags set, the same for a client and the server that it starts."""
    given = {
        name: settings[name]
        for name, origin in settings.origins.items()
        if origin in ("environment", "flag") and name not in _OF_THE_SERVER
    }
    plain = {name: value.reveal() if hasattr(value, "reveal") else str(value) for name, value in given.items()}
    for_plugins = {name: value for name, value in settings.variables.items() if name not in _VARIABLES}
    return hashlib.sha256(json.dumps([plain, for_plugins], sort_keys=True).encode()).hexdigest()[:16]


async def acquire_start_lock(home: Path, seconds: float) -> Callable[[], None]:
    """Acquires the start lock, so that clients at once start one server, not two; returns what releases it. Goes on
    after `seconds` without it. ServerUnreachable for a home that cannot be written to."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = os.open(home / LOCK_NAME, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise ServerUnreachable(
            f"No server can be started for {home}: {error.strerror}.", hint="Choose a home you may write to."
        ) from error
    until = time.monotonic() + seconds
    while fcntl is not None and not _try_lock(lock) and time.monotonic() < until:  # noqa: ASYNC110  another process holds it
        await asyncio.sleep(_POLL_SECONDS)
    return lambda: os.close(lock)


@asynccontextmanager
async def hold_start_lock(home: Path, seconds: float) -> AsyncIterator[None]:
    release = await acquire_start_lock(home, seconds)
    try:
        yield
    finally:
        release()


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
            until_idle=bool(values.get("until_idle", False)),
            overrides=str(values.get("overrides", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def remove_server_file(home: Path, server: Server) -> None:
    """Removes the file, unless another server has replaced it."""
    if read_server_file(home) == server:
        (home / FILE_NAME).unlink(missing_ok=True)


def is_serving(server: Server) -> bool:
    """Tells whether the process is alive and proves that it has the token. A server that is slow counts."""
    try:
        os.kill(server.pid, 0)
    except PermissionError:
        pass  # alive, and another user's
    except (OSError, OverflowError):
        return False
    try:
        _connect(server, _PROBE_SECONDS).close()
    except TimeoutError:
        return True
    except (OSError, HTTPException, ValueError, TypeError):
        return False
    return True


def request_json(server: Server, method: str, path: str, body: Any = None, *, timeout: float) -> Any:
    """Sends a request with the token and returns the JSON of the answer. OSError, HTTPException, ValueError."""
    connection = _connect(server, timeout)
    try:
        sent = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
        connection.request(method, path, sent, headers | {"Content-Length": str(len(sent))})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


async def ask_to_stop(server: Server, *, restart: bool = False, now: bool = False, seconds: float) -> bool:
    """Asks a server to stop, and waits until its address is free. Turns that run there end first, behind the closed
    door, unless `now`. False if it is too old to be asked or does not stop in time."""
    try:
        await asyncio.to_thread(
            request_json, server, "POST", STOP_PATH, {"restart": restart, "now": now}, timeout=_PROBE_SECONDS
        )
    except (OSError, HTTPException, ValueError):
        return not await asyncio.to_thread(is_serving, server)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not await asyncio.to_thread(is_serving, server):
            return True
        await asyncio.sleep(_POLL_SECONDS)
    return False


def _connect(server: Server, timeout: float) -> HTTPConnection:
    """Opens a connection whose other end has proved itself; what is sent on it reaches nobody else."""
    address = urlsplit(server.address)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=timeout)
    try:
        connection.connect()
        connection.auto_open = 0  # it never connects again by itself: that might be to another program
        nonce, peer = make_nonce(), connection.sock.getpeername()
        connection.request("GET", f"{PROOF_PATH}?nonce={nonce}")
        answer = connection.getresponse().read(_MAX_PROOF_BYTES)
        check_proof(answer, server.token, nonce, peer)
    except BaseException:
        connection.close()
        raise
    return connection


def make_nonce() -> str:
    return secrets.token_hex(32)


def build_proof(token: str, nonce: str, address: Sequence[Any]) -> str:
    """What a server at `address`, host and port as sockets name them, answers to a nonce."""
    text = f"sojourn server proof\n{nonce}\n{to_plain_address(str(address[0]))}\n{address[1]}"
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def check_proof(answer: bytes, token: str, nonce: str, address: Sequence[Any]) -> None:
    """Raises ProofFailed unless the body of an answer holds the proof for this connection."""
    try:
        shown = json.loads(answer)["proof"]
        is_right = hmac.compare_digest(str(shown).encode(), build_proof(token, nonce, address).encode())
    except (ValueError, KeyError, TypeError):
        is_right = False
    if not is_right:
        raise ProofFailed("the program there did not prove that it is your server")


def to_plain_address(host: str) -> str:
    """An IP address in one form: without a zone, and IPv4 not inside of IPv6."""
    try:
        parsed = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)
