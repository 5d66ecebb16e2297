"""Process identity: host, pid, start time and program run, so that others can tell whether this process is alive."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from sojourn.core.messages import Json

_RUN = secrets.token_hex(8)  # a program that replaces itself (exec) keeps its pid and start time


def this_process() -> dict[str, Json]:
    """Identifies this process; a later one with the same pid differs."""
    return dict(_identify(os.getpid()))


@lru_cache(maxsize=1)
def _identify(pid: int) -> dict[str, Json]:
    """Cached per pid: a forked child is another process."""
    place = {"host": socket.gethostname(), "space": _pid_namespace()}
    return {**place, "pid": pid, "started": _start_time(pid), "run": _RUN}


def is_dead(identity: Mapping[str, Json]) -> bool:
    """Whether that process has surely ended, or is this one before it replaced its program. False for one on another
    machine or in another container."""
    pid = identity.get("pid")
    if os.name != "posix" or not isinstance(pid, int) or pid <= 0:
        return False
    ours = _identify(os.getpid())
    if (identity.get("host"), identity.get("space")) != (ours["host"], ours["space"]):
        return False
    if pid == ours["pid"]:
        return any(identity.get(name) != ours[name] for name in ("started", "run"))
    return not _exists(pid) or _start_time(pid) != identity.get("started")


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # another user's
    return True


def _start_time(pid: int) -> str:
    """Start time in kernel ticks; empty if unknown or if the process is a zombie."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return ""
    return "" if state == "Z" else rest[18]


def _pid_namespace() -> str:
    """Identifies the pid namespace: boot id and container."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
