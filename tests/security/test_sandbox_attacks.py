"""Attacks on the sandbox: every line is really run, and the world outside is compared before and after."""

from __future__ import annotations

import asyncio
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

from sojourn.processes import find_tree, start
from sojourn.sandbox.enforcement import Mechanism, SandboxSupport, confine, find_support
from sojourn.sandbox.policy import SandboxPolicy, build_policy, confined_environment
from tests.security.attack_lines import SECRET, attack_lines, changes_metadata, encode

SHARES = 8  # parts of the list, so that the tests can be spread over processes


@dataclass
class Outside:
    """A home with secrets, listeners and a running program: what no command may reach."""

    base: Path
    victim: subprocess.Popen[bytes]
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    abstract: socket.socket
    names: dict[str, object] = field(default_factory=dict)

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
    for one in (tcp, udp, unix, abstract):
        one.setblocking(False)
    found = Outside(base, victim, tcp, udp, unix, abstract)
    found.names = {
        "home": home,
        "file": home / "documents/notes.txt",
        "key": home / ".ssh/id_ed25519",
        "store": home / ".sojourn/state.db",
        "port": tcp.getsockname()[1],
        "socket": base / "listener",
        "abstract": base.name,
        "pid": victim.pid,
    }
    yield found
    victim.kill()
    victim.wait()
    for one in (tcp, udp, unix, abstract):
        one.close()
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


def test_there_are_enough_attacks():
    assert len(set(attack_lines())) >= 150


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_no_command_has_an_effect_outside(mechanism, share, outside, folder):
    support, policy = support_of(mechanism), policy_for(outside, folder)
    before, faults = outside.snapshot(), []
    for template in attack_lines()[share::SHARES]:
        if mechanism == "landlock" and changes_metadata(template):
            continue  # `find_support().missing` says so, and every command is asked about
        line = template.removeprefix("ENCODED ").format(**outside.names)
        text, left = await run(encode(line) if template.startswith("ENCODED") else line, policy, support, seconds=3.0)
        if (after := outside.snapshot()) != before:
            faults.append(f"changed something outside: {line}\n{set(after.items()) ^ set(before.items())}")
            before = after
        if SECRET in text or "OPENED" in text:
            faults.append(f"read a secret: {line}\n{text}")
        if reached := outside.visitors():
            faults.append(f"reached {reached}: {line}")
        if outside.victim.poll() is not None or _state(outside.victim.pid) == "T":
            outside.victim.send_signal(signal.SIGCONT)
            faults.append(f"signalled a program outside: {line}")
        if left:
            faults.append(f"left {left} processes: {line}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_ordinary_work_goes_on_inside(mechanism, outside, folder):
    support, policy = support_of(mechanism), policy_for(outside, folder)
    (policy.write[1] / "gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    line = (
        "set -e; mkdir -p src; echo 'print(6 * 7)' > src/a.py; cp -r src copy; mv copy moved; rm -r moved; ls src;"
        " git init -q .; git add -A; git commit -qm first; git log --oneline | wc -l;"
        f" {sys.executable} src/a.py; echo done > $TMPDIR/x; cat $TMPDIR/x; sort /etc/passwd | head -1"
    )
    text, _ = await run(line, policy, support)
    assert text.split()[:4] == ["a.py", "1", "42", "done"], text


async def test_a_command_with_network_reaches_it_and_still_no_unix_socket(outside, folder):
    support, policy = support_of("landlock"), policy_for(outside, folder, network=True)
    text, _ = await run(f"exec 3<>/dev/tcp/127.0.0.1/{outside.names['port']}; echo hello >&3; echo $?", policy, support)
    assert text.split() == ["0"], text
    assert len(outside.visitors()) == 1
    await run(f"curl -s -m 1 --unix-socket {outside.names['socket']} http://x/", policy, support)
    assert outside.visitors() == []


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_secrets_inside_a_workspace_stay_hidden(mechanism, outside, folder):
    """A person may start in their home folder."""
    support, home = support_of(mechanism), outside.base / "home"
    temporary = folder / "temporary"
    temporary.mkdir()
    policy = build_policy(home, temporary, sojourn_home=home / ".sojourn", user_home=home)
    text, _ = await run(f"cat {home}/documents/notes.txt | wc -l; cat {home}/.ssh/* {home}/.sojourn/*", policy, support)
    assert text.startswith("1\n")
    assert SECRET not in text
    await run(f"rm -rf {home}/.ssh {home}/.sojourn", policy, support)
    assert (home / ".ssh/id_ed25519").read_text() == (home / ".sojourn/state.db").read_text() == f"{SECRET}\n"


@pytest.mark.parametrize("mechanism", ["bubblewrap", "landlock"])
async def test_secrets_behind_links_stay_hidden(mechanism, folder):
    """Keys are often links into a folder of dotfiles, and people make links to their keys."""
    home, temporary = folder / "home", folder / "temporary"
    (home / "dotfiles" / "ssh").mkdir(parents=True)
    temporary.mkdir()
    (home / "dotfiles" / "ssh" / "id").write_text(SECRET)
    (home / "dotfiles" / "notes").write_text("open")
    (home / ".ssh").symlink_to(home / "dotfiles" / "ssh")
    (home / "keys").symlink_to(home / ".ssh")
    policy = build_policy(home, temporary, sojourn_home=home / ".sojourn", user_home=home)
    line = f"cat {home}/dotfiles/notes; cat {home}/.ssh/id {home}/keys/id {home}/dotfiles/ssh/id; rm -rf {home}/keys/*"
    text, _ = await run(line, policy, support_of(mechanism))
    assert text.startswith("open")
    assert SECRET not in text
    assert (home / "dotfiles" / "ssh" / "id").read_text() == SECRET


async def test_a_program_that_cannot_be_confined_is_not_started(outside, folder):
    """The launcher refuses; it never goes on without a restriction."""
    support, policy = support_of("landlock"), policy_for(outside, folder)
    argv = confine(["/bin/bash", "-c", "echo started"], policy, support)
    inside_a_filter = (
        "import sys; from sojourn.sandbox import launcher; launcher.install_filter = lambda **_: False; launcher.main()"
    )
    argv[argv.index("-c") + 1] = argv[argv.index("-c") + 1].replace(
        "from sojourn.sandbox.launcher import main; main()", inside_a_filter
    )
    child = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, error = await child.communicate()
    assert (child.returncode, output) == (126, b"")
    assert b"nothing was started" in error


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
