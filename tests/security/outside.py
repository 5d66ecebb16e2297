"""The world outside the sandbox, and how a line is run inside: shared by the attacks."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from sojourn.processes.supervisor import find_tree, start
from sojourn.sandbox.enforcement import Mechanism, SandboxSupport, confine, find_support
from sojourn.sandbox.policy import SandboxPolicy, build_policy, confined_environment
from tests.security.attack_lines import SECRET


@dataclass
class Outside:
    """A home with secrets, listeners, a terminal and a running program: what no command may reach."""

    base: Path
    victim: subprocess.Popen[bytes]
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    abstract: socket.socket
    terminal: int  # what is written into a person's terminal comes out here
    names: dict[str, object] = field(default_factory=dict)
    before: dict[str, tuple[object, ...]] = field(default_factory=dict)

    def find_faults(self, line: str, text: str, left: int = 0) -> list[str]:
        """What a line has done outside, by what it printed, what it left running, and the world since the last call."""
        faults = []
        if (after := self.snapshot()) != self.before:
            faults.append(f"changed something outside: {line}\n{set(after.items()) ^ set(self.before.items())}")
            self.before = after
        if SECRET in text or "OPENED" in text:
            faults.append(f"read a secret: {line}\n{text}")
        if reached := self.visitors():
            faults.append(f"reached {reached}: {line}")
        if self.victim.poll() is not None or _state(self.victim.pid) == "T":
            self.victim.send_signal(signal.SIGCONT)
            faults.append(f"signalled a program outside: {line}")
        if left:
            faults.append(f"left {left} processes: {line}")
        return faults

    def snapshot(self) -> dict[str, tuple[object, ...]]:
        """Mode, owner, time and content of every file of the home, and of a few of the system's."""
        found: dict[str, tuple[object, ...]] = {}
        system = [Path(one) for one in ("/etc/hosts", "/usr/bin/env", "/etc/x", "/usr/x", "/var/x", "/x")]
        for path in [*sorted((self.base / "home").rglob("*")), self.base / "home", *system]:
            if not path.is_symlink() and not path.exists():
                found[str(path)] = ("missing",)
                continue
            status = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
        found["limits"] = (_read_limits(self.victim.pid),)
        return found

    def visitors(self) -> list[str]:
        """The listeners that somebody has reached."""
        reached = []
        for listener in (self.tcp, self.unix, self.abstract):
            try:
                listener.accept()[0].close()
                reached.append(str(listener.getsockname()))
            except BlockingIOError:
                continue
        with suppress(BlockingIOError):
            reached.append(f"udp {self.udp.recv(100)!r}")
        with suppress(BlockingIOError):
            reached.append(f"terminal {os.read(self.terminal, 100)!r}")
        return reached


@pytest.fixture(scope="module")
def outside():
    base = Path(tempfile.mkdtemp(prefix="sojourn-outside-", dir="/var/tmp"))  # not /tmp, which the sandbox replaces
    home = base / "home"
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".netrc",
        ".sojourn/state.db",
        "documents/notes.txt",
        ".bashrc",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"{SECRET}\n")
    argv = [sys.executable, "-c", "import time; time.sleep(3600)", "victim"]
    victim = subprocess.Popen(argv, cwd=home, env={"TOKEN": SECRET})
    tcp, udp, unix, abstract = (socket.socket(*one) for one in ((2, 1), (2, 2), (1, 1), (1, 1)))
    tcp.bind(("127.0.0.1", 0))
    udp.bind(tcp.getsockname())
    unix.bind(str(base / "listener"))
    abstract.bind(f"\0{base.name}")
    for one in (tcp, unix, abstract):
        one.listen()
    terminal, typed = os.openpty()
    for one in (tcp, udp, unix, abstract):
        one.setblocking(False)
    os.set_blocking(terminal, False)
    found = Outside(base, victim, tcp, udp, unix, abstract, terminal)
    found.names = {
        "home": home,
        "file": home / "documents/notes.txt",
        "key": home / ".ssh/id_ed25519",
        "store": home / ".sojourn/state.db",
        "port": tcp.getsockname()[1],
        "socket": base / "listener",
        "abstract": base.name,
        "pid": victim.pid,
        "tty": os.ttyname(typed),
    }
    found.before = found.snapshot()
    yield found
    victim.kill()
    victim.wait()
    for one in (tcp, udp, unix, abstract):
        one.close()
    os.close(terminal)
    os.close(typed)
    shutil.rmtree(base)


def support_of(mechanism: str) -> SandboxSupport:
    found = find_support()
    if mechanism == "bubblewrap" and found.mechanism != "bubblewrap":
        pytest.skip("bubblewrap does not work here")
    assert found.mechanism in ("bubblewrap", "landlock"), found.missing
    return replace(found, mechanism=cast(Mechanism, mechanism))


def policy_for(outside: Outside, folder: Path, *, network: bool = False) -> SandboxPolicy:
    workspace, temporary = folder / "workspace", folder / "temporary"
    workspace.mkdir(exist_ok=True)
    temporary.mkdir(exist_ok=True)
    home = outside.base / "home"
    return build_policy(workspace, temporary, sojourn_home=home / ".sojourn", user_home=home, network=network)


async def run(line: str, policy: SandboxPolicy, support: SandboxSupport, seconds: float = 20.0) -> tuple[str, int]:
    """Runs a line as the terminal tool does; returns what it printed and how many processes it left."""
    argv = confine(["/bin/bash", "--noprofile", "--norc", "-c", line], policy, support)
    environment = confined_environment({"PATH": os.environ["PATH"], "HOME": str(policy.write[0])}, policy.write[1])
    child = await start(argv, cwd=policy.write[0], env=environment)
    mark, since = child._mark, child._start_ticks
    try:
        await child.wait(seconds)
    finally:
        await child.end()
    return child.output.text(), len(find_tree(child.pid, mark, since))


@pytest.fixture
def folder():
    found = Path(tempfile.mkdtemp(prefix="sojourn-inside-", dir="/var/tmp"))
    yield found
    shutil.rmtree(found, ignore_errors=True)


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _read_limits(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/limits").read_text()
    except ProcessLookupError:
        return "ended"
