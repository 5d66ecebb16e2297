"""Which process runs a turn, so that another one can tell whether it still does."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from sojourn.core.messages import Json


def this_process() -> dict[str, Json]:
    """A mark of this process that no other one has, also not a later one with the same number."""
    return dict(_mark(os.getpid()))


@lru_cache(maxsize=1)
def _mark(pid: int) -> dict[str, Json]:
    """It stays the same, and every turn has it; a forked child is another process."""
    return {"host": socket.gethostname(), "space": _space(), "pid": pid, "started": _started(pid)}


def is_dead(mark: Mapping[str, Json]) -> bool:
    """Whether that process is surely gone. Of another machine (or container) nothing is known: False."""
    pid = mark.get("pid")
    if os.name != "posix" or not isinstance(pid, int) or pid <= 0:
        return False
    ours = _mark(os.getpid())
    if (mark.get("host"), mark.get("space")) != (ours["host"], ours["space"]):
        return False
    return not _exists(pid) or _started(pid) != mark.get("started")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's
    return True


def _started(pid: int) -> str:
    """When it was started, in the kernel's ticks; empty where that cannot be known, or when it only waits to go."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state == "Z" else rest[18]


def _space() -> str:
    """Where process numbers mean the same: this boot of the machine, this container."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
