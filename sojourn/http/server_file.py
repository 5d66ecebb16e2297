"""`server.json` in the home: how others on this machine find the running server. Private to its owner."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

FILE = "server.json"
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A server of this home."""

    address: str
    token: str
    pid: int
    started_at: str
    version: str


def write(home: Path, said: Announcement) -> None:
    """Appears whole or not at all, and nobody else may read it."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = home / f".{FILE}.{os.getpid()}"
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(said), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(home / FILE)


def read(home: Path) -> Announcement | None:
    """What is announced; None when nothing readable is."""
    try:
        found = json.loads((home / FILE).read_text("utf-8"))
        return Announcement(**{name: found[name] for name in Announcement.__slots__})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove(home: Path, ours: Announcement) -> None:
    """Takes the announcement back, unless another server has replaced it meanwhile."""
    if read(home) == ours:
        (home / FILE).unlink(missing_ok=True)


def is_serving(said: Announcement) -> bool:
    """Whether that server still lives: its process is there and answers as Sojourn does."""
    try:
        os.kill(said.pid, 0)
    except PermissionError:
        pass  # alive, and somebody else's
    except (OSError, OverflowError, TypeError):
        return False
    place = urlsplit(said.address)
    line = HTTPConnection(place.hostname or "", place.port, timeout=_PATIENCE)
    try:
        line.request("GET", "/healthz")
        return "version" in json.loads(line.getresponse().read())
    except TimeoutError:
        return True  # busy is not gone
    except (OSError, HTTPException, ValueError, TypeError):
        return False
    finally:
        line.close()
