"""The tool `process`: programs that keep running in the background. They end with their session's process."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.ports.app import Shared
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.processes.supervisor import ChildProcess, OutputBuffer, Watch
from sojourn.tool_schema import tool
from sojourn.tools.command_sandbox import Access, CommandApp, CommandSandbox
from sojourn.tools.guard import failed_result
from sojourn.tools.terminal import ask_about_command, shell_argv, start_command, working_folder

MAX_RUNNING = 8  # running at once in one session
MAX_ENDED = 20  # ended ones that are remembered
FIRST_LOOK_SECONDS = 0.5  # a program that ends within this time is reported at once


def _new_buffer() -> OutputBuffer:
    return OutputBuffer(1 << 20, 1 << 20)


@dataclass(slots=True)
class BackgroundProcess:
    """A running or ended program. `unread` is its output since the last report."""

    name: str
    command: str
    access: Access
    child: ChildProcess
    unread: OutputBuffer

    @property
    def state(self) -> str:
        code = self.child.process.returncode
        return "running" if code is None else f"ended with exit code {code}"


class BackgroundProcesses:
    """The background processes of all sessions."""

    def __init__(self, app: CommandApp) -> None:
        self._app = app
        self._by_session: dict[SessionId, dict[str, BackgroundProcess]] = {}
        self._count = 0

    def of(self, session: SessionId) -> dict[str, BackgroundProcess]:
        return self._by_session.setdefault(session, {})

    def one(self, session: SessionId, name: str) -> BackgroundProcess:
        if name not in self.of(session):
            known = ", ".join(self.of(session)) or "none"
            raise NotFound(f'There is no process "{name}".', hint=f"There are: {known}.")
        return self.of(session)[name]

    async def start(self, at: Workspace, command: str, cwd: str, access: Access) -> BackgroundProcess:
        processes = self.of(at.session)
        if sum(one.state == "running" for one in processes.values()) >= MAX_RUNNING:
            raise BadInput(f"{MAX_RUNNING} processes are running already.", hint="End one first with action=kill.")
        folder = working_folder(at, cwd, self._app.settings)
        argv, environment = self._app.shared(CommandSandbox).prepare(shell_argv(command), at, access)
        child = await start_command(argv, cwd=folder, environment=environment, connect="input", watch=Watch())
        self._count += 1
        started = BackgroundProcess(f"p{self._count}", command, access, child, _new_buffer())
        child.on_output = lambda data: started.unread.add(data)
        processes[started.name] = started
        for name in [name for name, one in processes.items() if one.state != "running"][:-MAX_ENDED]:
            await processes.pop(name).child.end()
        return started

    async def close(self) -> None:
        children = [one.child for processes in self._by_session.values() for one in processes.values()]
        self._by_session.clear()
        await asyncio.gather(*(child.end() for child in children))


def process_tool(app: Shared) -> Tool:
    processes = app.shared(BackgroundProcesses)

    def asks(at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        if arguments["action"] == "start":
            access: Access = arguments.get("access") or "sandbox"
            command, cwd = arguments.get("command") or "", arguments.get("cwd") or ""
            return ask_about_command(command, access, "Start this in the background", cwd)
        if arguments["action"] == "write":
            running = processes.one(at.session, arguments.get("id") or "")
            return ask_about_command(arguments.get("text") or "", running.access, f"Type this into {running.name}")
        return None  # looking at and ending what was allowed to start

    @tool(effect="runs", asks=asks)
    async def process(
        at: Workspace,
        action: Literal["start", "poll", "write", "kill", "list"],
        command: str = "",
        id: str = "",
        text: str = "",
        cwd: str = "",
        wait: float = 0,
        access: Access = "sandbox",
    ) -> ToolResult:
        """Programs in the background: servers, watchers, long builds. They end when the session's process ends.

        action: start a command; poll its output since the last time; write text to its input; kill it; list all
        command: for start: the command line
        id: for poll, write and kill: the id that start gave
        text: for write: what is typed in; a line break is not added
        cwd: for start: the folder, from the workspace
        wait: for poll: seconds to wait for new output or the end
        access: for start: sandbox (changes the workspace only, no network), network, or outside (asked every time)
        """
        if action == "list":
            return _list_processes(processes.of(at.session))
        if action == "start":
            if not command.strip():
                raise BadInput("The command is empty.", hint="Give a command line.")
            one = await processes.start(at, command, cwd, access)
            await one.child.wait(FIRST_LOOK_SECONDS)
            return _report(one)
        one = processes.one(at.session, id)
        if action == "write":
            return await _write(one, text)
        if action == "kill":
            await one.child.end()
            return _report(one)
        await _wait_for_output(one, min(wait, at.seconds))
        return _report(one)

    return process


async def _wait_for_output(one: BackgroundProcess, seconds: float) -> None:
    until = time.monotonic() + seconds
    while one.state == "running" and not one.unread.total and (left := until - time.monotonic()) > 0:
        await one.child.wait(min(left, 0.1))


async def _write(one: BackgroundProcess, text: str) -> ToolResult:
    if one.child.stdin_fd is None or one.state != "running":
        return failed_result(f"{one.name} has {one.state}; nothing can be written to it.")
    data, feed = text.encode("utf-8"), one.child.stdin_fd
    os.set_blocking(feed, False)
    try:
        written = os.write(feed, data)
    except BlockingIOError:
        written = 0
    except BrokenPipeError:
        return failed_result(f"{one.name} does not read any more.")
    if written < len(data):
        return failed_result(
            f"{one.name} has read only {written} of {len(data)} bytes; it is busy. Write the rest later."
        )
    await _wait_for_output(one, FIRST_LOOK_SECONDS)
    return _report(one)


def _report(one: BackgroundProcess) -> ToolResult:
    output = one.unread.text().rstrip("\n")
    one.unread = _new_buffer()
    code = one.child.process.returncode
    facts = {"id": one.name, "pid": one.child.process.pid, "running": code is None, "exit_code": code}
    text = f"{output}\n[{one.name} {one.state}]" if output else f"[{one.name} {one.state}, no new output]"
    return ToolResult(text=text, facts=facts)


def _list_processes(processes: Mapping[str, BackgroundProcess]) -> ToolResult:
    lines = [
        f"{one.name}  {one.state}  {time.monotonic() - one.child.started_at:.0f} s  {one.command.splitlines()[0][:100]}"
        for one in processes.values()
    ]
    return ToolResult(text="\n".join(lines) or "No process was started.", facts={"count": len(processes)})
