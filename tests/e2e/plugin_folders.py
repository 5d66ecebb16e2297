"""Plugins for the dashboard, written into a home: the example as it stands, and small unruly ones."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "dashboard-plugin" / "garden"
ROUTER = "from fastapi import APIRouter\nrouter = APIRouter()\n"


def copy_example(home: Path) -> str:
    """The example, byte for byte; gives its name."""
    shutil.copytree(EXAMPLE, home / "plugins" / EXAMPLE.name)
    return EXAMPLE.name


def write(home: Path, name: str, /, *, api: str = "", page: str = "", **manifest: Any) -> Path:
    """A plugin whose router has `api` below it and whose script is `page`; gives the folder of its manifest."""
    place = home / "plugins" / name / "dashboard"
    place.mkdir(parents=True)
    (place / "index.js").write_text(page, "utf-8")
    told = {"entry": "index.js", **manifest}
    if api:
        (place / "plugin_api.py").write_text(ROUTER + api, "utf-8")
        told["api"] = "plugin_api.py"
    (place / "manifest.json").write_text(json.dumps(told), "utf-8")
    return place


def programs(home: Path) -> list[int]:
    """The processes of plugins in that home that are alive, their keepers included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line, state = (
                    (entry / "cmdline").read_bytes(),
                    (entry / "stat").read_text().rpartition(")")[2].split()[0],
                )
            except OSError:
                continue
            if str(home).encode() in line and b"sojourn.dashboard.plugin_main" in line and state not in "ZX":
                found.append(int(entry.name))
    return found


def soon(true: Callable[[], Any], seconds: float = 10.0) -> Any:
    """What it gives once that is true; the last word when the time is over."""
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
