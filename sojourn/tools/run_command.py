"""Runs a command to its end, within the time a call has, and says how it went."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.ports.tool import ToolResult, Workspace
from sojourn.processes import ChildProcess, Connect, Watch, start
from sojourn.text.ansi import strip_control
from sojourn.text.redaction import redact
from sojourn.tools.path_policy import locate

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1"}
PROGRESS_SECONDS = 0.5  # seconds between two lines of progress


def shell_argv(command: str) -> list[str]:
    """How a line for the shell is started, without anybody's start-up files."""
    found = next((one for one in SHELLS if Path(one).exists()), "sh")
    return [found, "--noprofile", "--norc", "-c", command] if found.endswith("bash") else [found, "-c", command]


def working_folder(at: Workspace, raw: str, settings: Settings) -> Path:
    """The folder a command is started in: the workspace, or one below it. BadInput."""
    place = locate(at, raw or ".", settings)
    if not place.inside:
        raise BadInput(f"{raw} is outside the workspace.", hint="Start in the workspace; `cd` is part of the command.")
    if not place.path.is_dir():
        raise BadInput(f"{place.shown} is not a folder.", hint="Give a folder of the workspace.")
    return place.path


async def start_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    settings: Settings,
    more: Mapping[str, str] | None = None,
    connect: Connect = "output",
    watch: Watch | None = None,
) -> ChildProcess:
    """Starts a command with an environment that holds none of our secrets. BadInput when it cannot be started."""
    environment = {"PATH": os.defpath, **settings.for_children, **QUIET, **(more or {})}
    try:
        return await start(argv, cwd=cwd, env=environment, connect=connect, watch=watch)
    except OSError as error:
        raise BadInput(
            f"{argv[0]} cannot be started: {error.strerror}.", hint="Check the command and its folder."
        ) from error


async def run_command(
    argv: Sequence[str],
    at: Workspace,
    *,
    cwd: Path,
    settings: Settings,
    seconds: float,
    more: Mapping[str, str] | None = None,
) -> ToolResult:
    """What the command said and how it ended. Whatever it left behind is ended too."""
    child = await start_command(argv, cwd=cwd, settings=settings, more=more)
    child.on_output = progress_reporter(at)
    done, left = False, 0
    try:
        done = await child.wait(seconds)
    finally:
        left = await child.end()
    code = child.process.returncode
    notes = []
    if not done:
        notes.append(f"[stopped after {seconds:g} seconds. For something long use the process tool.]")
    elif code:
        notes.append(f"[exit code {code}]")
    if done and left:
        notes.append(f"[{left} processes it left running were ended. To keep one, use the process tool.]")
    text = child.output.text()
    facts: dict[str, Json] = {
        "exit_code": code if done else None,
        "seconds": round(time.monotonic() - child.started_at, 3),
        "bytes": child.output.total,
        "cwd": str(cwd),
        "timed_out": not done,
    }
    said = "\n".join(filter(None, [text.rstrip("\n"), *notes]))
    return ToolResult(text=said or "[no output, exit code 0]", ok=done and code == 0, facts=facts)


def progress_reporter(at: Workspace) -> Callable[[bytes], None]:
    """Passes the newest line on to whoever watches, at most twice a second."""
    last = 0.0

    def heard(data: bytes) -> None:
        nonlocal last
        if time.monotonic() - last < PROGRESS_SECONDS:
            return
        lines = [line for line in data[-2000:].decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            last = time.monotonic()
            at.tell(redact(strip_control(lines[-1]))[:200])

    return heard
