"""A running plugin program: its sandbox, its child process, its socket, and its end. `backends.py` decides when it is
started."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import httpx2

from sojourn.core.errors import NotAllowed, PluginDown
from sojourn.core.settings import Settings
from sojourn.dashboard.plugin_main import ALIVE_PATH, PluginArguments
from sojourn.processes.supervisor import ChildProcess, OutputBuffer, Watch
from sojourn.processes.supervisor import start as start_process
from sojourn.sandbox.enforcement import confine, find_support
from sojourn.sandbox.policy import SYSTEM_SECRETS, SandboxLimits, SandboxPolicy, list_configuration
from sojourn.settings.table import CHILD_VARIABLES

OUTPUT_TAIL_BYTES = 16 * 1024  # of its output that are remembered
READ_PAUSE_SECONDS = 0.05  # a program that floods its output is read no faster than one buffer per pause
MOST_PROCESSES = 256  # and threads, of one program with everything it starts
_SYSTEM_PATHS = (
    *("/usr", "/lib", "/lib64", "/bin", "/sys/devices/system", "/dev/urandom", "/dev/random"),
    *("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/kernel"),
)
_NO_KEEPALIVE = httpx2.Limits(max_keepalive_connections=0)  # a program that raised closes its connections


class PluginProcess:
    """One running plugin program and the HTTP client for its private socket."""

    def __init__(self, child: ChildProcess, folder: Path, socket_path: str) -> None:
        self._child, self._folder = child, folder
        child.read_pause_seconds = READ_PAUSE_SECONDS
        transport = httpx2.AsyncHTTPTransport(uds=socket_path, retries=0, limits=_NO_KEEPALIVE)
        # The caller limits the time. The machine's proxies and certificates do not matter here.
        self.http = httpx2.AsyncClient(transport=transport, base_url="http://plugin", timeout=None, trust_env=False)

    @property
    def is_running(self) -> bool:
        return self._child.is_running

    async def answers_within(self, seconds: float) -> bool:
        """Whether it answers within that time."""
        try:
            async with asyncio.timeout(seconds):
                return bool((await self.http.get(ALIVE_PATH)).status_code == 200)
        except (httpx2.TransportError, TimeoutError):
            return False

    async def describe_end(self) -> str:
        """The last line of its output, and its exit code."""
        await self._child.wait(1)
        lines = self._child.output.text().strip().splitlines()
        code = self._child.process.returncode
        ended = "" if code is None else f" (exit code {code})"
        return f"{lines[-1][:500] if lines else 'it wrote nothing'}{ended}"

    async def end(self) -> None:
        """Ends the program and everything it started."""
        await self._child.end(grace_seconds=0)
        await self.http.aclose()
        shutil.rmtree(self._folder, ignore_errors=True)


async def start_plugin(arguments: PluginArguments, needs: frozenset[str], settings: Settings) -> PluginProcess:
    """Starts the program, confined, and fills in `arguments.socket`. PluginDown when it cannot be started."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-"))  # a short path: the name of a socket has a length limit
    socket_path = str(folder / "s")
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(socket_path)
            listening.listen(64)
            argument = json.dumps({**asdict(arguments), "socket": listening.fileno()})
            child = await start_process(
                confine_plugin(
                    [sys.executable, "-I", "-X", "utf8", "-m", "sojourn.dashboard.plugin_main", argument],
                    arguments,
                    needs,
                    folder,
                ),
                cwd=arguments.folder,
                env=_environment(arguments, settings),
                watch=Watch(grace_seconds=0, folder=folder),
                pass_fds=(listening.fileno(),),
                output=OutputBuffer(0, OUTPUT_TAIL_BYTES),
            )
    except NotAllowed as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise PluginDown(
            f'The plugin "{arguments.name}" was not started: this machine cannot confine it.', hint=error.hint
        ) from error
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise PluginDown(
            f'The plugin "{arguments.name}" cannot be started: {error.strerror}.', hint="Look at the machine's limits."
        ) from error
    return PluginProcess(child, folder, socket_path)


def confine_plugin(argv: Sequence[str], arguments: PluginArguments, needs: frozenset[str], folder: Path) -> list[str]:
    """The command line that runs the program in a sandbox. NotAllowed where this machine has none.

    Whatever was agreed to, UNIX sockets stay out of reach, behind which are Docker, a desktop, and other plugins.
    """
    support, temporary = find_support(), folder / "temporary"
    temporary.mkdir()
    ours = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()]
    read = [Path(one) for one in (*_SYSTEM_PATHS, *ours)]
    limits = SandboxLimits(
        processes=MOST_PROCESSES, memory_mib=arguments.memory_mb, memory_setting="dashboard.plugin_memory_mb"
    )
    policy = SandboxPolicy(
        read=tuple(dict.fromkeys([*read, *list_configuration(), Path(arguments.folder).parent.resolve()])),
        write=(Path(arguments.data), temporary),
        hidden=SYSTEM_SECRETS,
        temporary=temporary,
        network="network" in needs,
        limits=limits,
    )
    if "files" in needs:  # bubblewrap would show it a file system of its own
        policy = replace(policy, read=(), write=(Path("/"),), hidden=(), temporary=None)
        support = replace(support, mechanism="landlock") if support.mechanism == "bubblewrap" else support
    return confine(argv, policy, support)


def _environment(arguments: PluginArguments, settings: Settings) -> Mapping[str, str]:
    """What every program needs, and nothing that could be a secret."""
    seen = {name: value for name, value in settings.for_children.items() if name in CHILD_VARIABLES}
    return {
        "PATH": os.defpath,
        **seen,
        "TMPDIR": arguments.data,
        "SOJOURN_PLUGIN_NAME": arguments.name,
        "SOJOURN_PLUGIN_DATA": arguments.data,
        "MALLOC_ARENA_MAX": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
