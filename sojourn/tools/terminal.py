"""Tools that run programs: `terminal` (one command line) and `execute_code` (Python with resource limits)."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.processes.supervisor import ChildProcess, Connect, Watch, start
from sojourn.text.ansi import strip_control
from sojourn.text.exact import hash_text, reveal
from sojourn.text.redaction import redact
from sojourn.tool_schema import tool
from sojourn.tools.command_sandbox import Access, CommandApp, CommandSandbox, ask_about_program
from sojourn.tools.lazy_parts import DESCRIBE_COMMAND, FIND_CODE_DANGERS
from sojourn.tools.path_policy import locate

SHELLS = ("/bin/bash", "/usr/bin/bash", "/bin/sh")
LATER_SECONDS = 10.0  # after the limit the sandbox ends a command that is still there
PROGRESS_SECONDS = 0.5  # seconds between two lines of progress


def shell_argv(command: str) -> list[str]:
    """Returns the program and arguments that run a shell command, without anybody's start-up files."""
    found = next((one for one in SHELLS if Path(one).exists()), "sh")
    return [found, "--noprofile", "--norc", "-c", command] if found.endswith("bash") else [found, "-c", command]


def working_folder(at: Workspace, raw: str, settings: Settings) -> Path:
    """Resolves the folder a command is started in: the workspace, or one below it. BadInput."""
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
    environment: Mapping[str, str],
    connect: Connect = "output",
    watch: Watch | None = None,
) -> ChildProcess:
    """Starts a command. BadInput when it cannot be started."""
    try:
        return await start(argv, cwd=cwd, env=environment, connect=connect, watch=watch)
    except OSError as error:
        raise BadInput(
            f"{argv[0]} cannot be started: {error.strerror}.", hint="Check the command and its folder."
        ) from error


async def run_command(
    argv: Sequence[str], at: Workspace, *, cwd: Path, environment: Mapping[str, str], seconds: float
) -> ToolResult:
    """Runs a command and returns its output and exit code. Processes that it left behind are ended too."""
    child = await start_command(argv, cwd=cwd, environment=environment)
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
    facts: dict[str, Json] = {
        "exit_code": code if done else None,
        "seconds": round(time.monotonic() - child.started_at, 3),
        "bytes": child.output.total,
        "cwd": str(cwd),
        "timed_out": not done,
    }
    text = "\n".join(filter(None, [child.output.text().rstrip("\n"), *notes]))
    return ToolResult(text=text or "[no output, exit code 0]", ok=done and code == 0, facts=facts)


def progress_reporter(at: Workspace) -> Callable[[bytes], None]:
    """Shows the newest line of a command's output as progress, at most twice a second."""
    last = 0.0

    def report(data: bytes) -> None:
        nonlocal last
        if time.monotonic() - last < PROGRESS_SECONDS:
            return
        lines = [line for line in data[-2000:].decode("utf-8", "replace").splitlines() if line.strip()]
        if lines:
            last = time.monotonic()
            at.tell(redact(strip_control(lines[-1]))[:200])

    return report


def ask_about_command(command: str, access: Access, verb: str = "Run", cwd: str = "") -> Question:
    """Builds the question before a command line. It names the folder, if that is not the workspace."""
    where = f" in {reveal(cwd)}" if cwd.strip(" ./") else ""
    return ask_about_program(f"{verb} this command{where}?", command, DESCRIBE_COMMAND.load()(command), access)


def terminal_tool(app: CommandApp) -> Tool:
    def asks(_: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        access: Access = arguments.get("access") or "sandbox"
        return ask_about_command(arguments["command"], access, cwd=arguments.get("cwd") or "")

    @tool(effect="runs", asks=asks)
    async def terminal(
        at: Workspace, command: str, cwd: str = "", timeout: int = 0, access: Access = "sandbox"
    ) -> ToolResult:
        """Runs a command line in a shell and waits for its end. It has no input and no screen; what it leaves
        running is ended. For servers and other things that keep running use the process tool.

        command: the command line
        cwd: the folder to start in, from the workspace
        timeout: seconds it may take, at most the limit of the settings
        access: sandbox (changes the workspace only, no network), network, or outside (asked about every time)
        """
        if not command.strip():
            raise BadInput("The command is empty.", hint="Give a command line.")
        seconds = min(timeout, at.seconds) if timeout > 0 else at.seconds
        folder = working_folder(at, cwd, app.settings)
        argv, environment = app.shared(CommandSandbox).prepare(shell_argv(command), at, access, seconds + LATER_SECONDS)
        return await run_command(argv, at, cwd=folder, environment=environment, seconds=seconds)

    return terminal


MEMORY_BYTES = 2 << 30  # of address space
FILE_BYTES = 256 << 20  # of the largest file it may write
MAX_CODE_CHARS = 200_000

# Sets the limits in the new process itself, then becomes the code: nothing has to run between fork and exec. The code
# is compiled from the text that was shown, so a coding cookie changes nothing; what another process of the session put
# in its place is not run.
PRELUDE = """
import hashlib, resource, sys
for what, most in ((resource.RLIMIT_AS, {memory}), (resource.RLIMIT_FSIZE, {file}), (resource.RLIMIT_CPU, {cpu}),
                   (resource.RLIMIT_CORE, 0)):
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))
sys.argv = [{path!r}]
sys.path.insert(0, {cwd!r})
code = open({path!r}, "rb").read()
if hashlib.sha256(code).hexdigest() != {sha256!r}:
    sys.exit("This is not the code that was approved: another process changed the file. Nothing was run.")
code = compile(code.decode("utf-8", "surrogatepass"), {path!r}, "exec")
exec(code, {{"__name__": "__main__", "__file__": {path!r}}})
"""


def execute_code_tool(app: CommandApp) -> Tool:
    def asks(_: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        code: str = arguments["code"]
        access: Access = arguments.get("access") or "sandbox"
        return ask_about_program("Run this Python?", code, FIND_CODE_DANGERS.load()(code), access)

    @tool(effect="runs", asks=asks)
    async def execute_code(at: Workspace, code: str, timeout: int = 0, access: Access = "sandbox") -> ToolResult:
        """Runs Python code in the workspace and returns what it prints. Nothing is kept between two calls.

        code: the Python source
        timeout: seconds it may take, at most the limit of the settings
        access: sandbox (changes the workspace only, no network), network, or outside (asked about every time)
        """
        if not code.strip() or len(code) > MAX_CODE_CHARS:
            raise BadInput(f"The code has {len(code)} characters.", hint=f"Give 1 to {MAX_CODE_CHARS}.")
        seconds = min(timeout, at.seconds) if timeout > 0 else at.seconds
        cwd = working_folder(at, ".", app.settings)
        sandbox = app.shared(CommandSandbox)
        with tempfile.TemporaryDirectory(dir=sandbox.folder_of(at.session)) as folder:
            path = Path(folder, "code.py")
            path.write_bytes(code.encode("utf-8", "surrogatepass"))
            prelude = PRELUDE.format(
                memory=MEMORY_BYTES,
                file=FILE_BYTES,
                cpu=max(1, int(seconds) + 1),
                path=str(path),
                cwd=str(cwd),
                sha256=hash_text(code),
            )
            program = [sys.executable, "-I", "-u", "-c", prelude]
            argv, environment = sandbox.prepare(program, at, access, seconds + LATER_SECONDS)
            return await run_command(argv, at, cwd=cwd, environment=environment, seconds=seconds)

    return execute_code
