"""Enforcement: what this machine can confine a program with, and the command line that does it.

Linux: Landlock, seccomp and resource limits, applied by `launcher.py` in the program's own process. bubblewrap, where
it works, adds namespaces around them: a read-only file system, own processes, own network. macOS: `sandbox-exec`.
"""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sojourn.core.errors import NotAllowed
from sojourn.sandbox.landlock import landlock_version
from sojourn.sandbox.macos import build_profile
from sojourn.sandbox.policy import MIB, SandboxPolicy, find_inside, split_around, writable_devices
from sojourn.sandbox.seccomp import supports_seccomp

Mechanism = Literal["bubblewrap", "landlock", "sandbox-exec", "none"]
_LEAST_LANDLOCK = 4  # the first version that restricts TCP
# What older versions of Landlock leave open where bubblewrap does not close it, by the first version that closes it.
_LACKING = {
    3: "Files outside can be emptied.",
    5: "Devices that can be read can be given commands.",
    6: "Your other programs can be sent signals, and their abstract sockets can be seen.",
}
_PROBE_SECONDS = 20.0  # a millisecond, but a busy machine must not end up with less of a sandbox
_MOST_SHM_MIB = 1024  # of /dev/shm, beside the memory of the processes
_REPLACED = ("/tmp", "/dev/shm")  # by folders of the sandbox's own
_REPLACED_PREFIXES = tuple(f"{one}/" for one in _REPLACED)
_ROOT = str(Path(__file__).resolve().parents[2])
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from sojourn.sandbox.launcher import main; main()"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSupport:
    """What this machine can enforce. `missing`: what it cannot, each a sentence; empty when all is enforced."""

    mechanism: Mechanism
    missing: tuple[str, ...] = ()
    landlock: int = 0  # the version of this kernel's Landlock
    has_own_proc: bool = False  # bubblewrap can mount a /proc that shows only the sandbox

    @property
    def is_complete(self) -> bool:
        """Whether a command may run inside without being asked about."""
        return self.mechanism != "none" and not self.missing


@cache
def find_support() -> SandboxSupport:
    """Tries out what this machine offers, once for each process."""
    if sys.platform == "darwin":
        if shutil.which("sandbox-exec"):
            return SandboxSupport(mechanism="sandbox-exec")
        return SandboxSupport(mechanism="none", missing=("sandbox-exec is not there.",))
    version = landlock_version()
    if not version or not supports_seccomp():
        what = "This kernel has no Landlock." if not version else "seccomp is not supported on this machine."
        return SandboxSupport(mechanism="none", missing=(what,))
    own_proc = _bubblewrap_works(own_proc=True)
    wrapped = own_proc or _bubblewrap_works(own_proc=False)
    missing = []
    if version < _LEAST_LANDLOCK:
        missing.append(f"Landlock {version} of this kernel does not restrict TCP; version {_LEAST_LANDLOCK} does.")
    if not wrapped:
        missing.append("Permissions and times of files outside can be changed, though not their contents.")
    missing += [what for since, what in _LACKING.items() if version < since and not wrapped]
    return SandboxSupport(
        mechanism="bubblewrap" if wrapped else "landlock",
        missing=tuple(missing),
        landlock=version,
        has_own_proc=own_proc,
    )


def confine(argv: Sequence[str], policy: SandboxPolicy, support: SandboxSupport | None = None) -> list[str]:
    """The command line that runs `argv` under the policy. NotAllowed where this machine has no sandbox."""
    support = support or find_support()
    if support.mechanism == "none":
        raise NotAllowed(
            f"Programs cannot be confined here: {' '.join(support.missing)}",
            hint="`sojourn doctor` says what is missing.",
        )
    if support.mechanism == "sandbox-exec":
        return ["sandbox-exec", "-p", build_profile(policy), *argv]
    wrapped = support.mechanism == "bubblewrap"
    plan = marshal.dumps(_plan(policy, wrapped=wrapped)).hex()
    launcher = [sys.executable, "-I", "-S", "-c", _START, _ROOT, plan, *argv]
    return [*_bubblewrap(policy, own_proc=support.has_own_proc), *launcher] if wrapped else launcher


def _plan(policy: SandboxPolicy, *, wrapped: bool) -> dict[str, Any]:
    """What the launcher applies. Under bubblewrap hidden places are covered, so their surroundings can be granted."""
    hidden = () if wrapped else find_inside(policy.hidden, (*policy.write, *policy.read))
    write = [str(one) for folder in policy.write for one in split_around(folder, hidden)]
    read = [str(one) for folder in policy.read for one in split_around(folder, hidden)]
    limits = policy.limits
    wanted = {
        "processes": limits.processes and limits.processes + _count_tasks(),
        "file_bytes": limits.file_mib * MIB,
        "open_files": limits.open_files,
        "cpu_seconds": limits.cpu_seconds,
    }
    return {
        "read": [*read, _ROOT],
        "write": [*write, *map(str, writable_devices(terminals=wrapped)), *(_REPLACED if wrapped else ())],
        "network": policy.network,
        "limits": {name: most for name, most in wanted.items() if most},
        "tree": {
            "processes": limits.processes,
            "memory_bytes": min(limits.memory_mib * MIB, _machine_bytes() * 3 // 4),
            "memory_setting": limits.memory_setting,
            "seconds": limits.seconds,
            "folders": [str(folder) for folder in policy.write],
        },
        "own_namespace": wrapped,
    }


def _bubblewrap(policy: SandboxPolicy, *, own_proc: bool) -> list[str]:
    """bubblewrap's arguments: everything read-only, then what may be written, then covers over what is hidden."""
    argv = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--new-session"]
    argv += [] if policy.network else ["--unshare-net"]
    argv += ["--cap-add", "CAP_CHOWN", "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER"] if _is_root() else []
    argv += ["--ro-bind", "/", "/", "--dev", "/dev"]
    argv += ["--proc", "/proc"] if own_proc else []
    if policy.limits.memory_mib:  # files there are memory that no process has mapped
        argv += ["--size", str(min(policy.limits.memory_mib, _MOST_SHM_MIB) * MIB)]
    argv += ["--tmpfs", "/dev/shm"]
    if policy.temporary is not None:
        argv += ["--bind", str(policy.temporary), "/tmp"]
    for folder in (*policy.read, Path(_ROOT)):  # the launcher itself may lie below a replaced folder
        if f"{folder}/".startswith(_REPLACED_PREFIXES):
            argv += ["--ro-bind-try", str(folder), str(folder)]
    for folder in policy.write:
        argv += ["--bind-try", str(folder), str(folder)]
    for place in find_inside(policy.hidden, (*policy.write, *policy.read)):
        argv += _cover(place)
    return [*argv, "--"]


def _cover(place: Path) -> Iterator[str]:
    if place.is_symlink():
        return  # what it leads to is hidden too
    if place.is_dir():
        yield from ("--tmpfs", str(place), "--remount-ro", str(place))
    elif place.exists():
        yield from ("--ro-bind", os.devnull, str(place))


def _bubblewrap_works(*, own_proc: bool) -> bool:
    """Whether bubblewrap is installed and may do its work here: in some containers it may not."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory(prefix="sojourn-") as folder:
        policy = SandboxPolicy(read=(), write=(Path(folder),), temporary=Path(folder))
        try:
            probe = [*_bubblewrap(policy, own_proc=own_proc), "true"]
            return subprocess.run(probe, capture_output=True, timeout=_PROBE_SECONDS).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def _is_root() -> bool:
    return os.geteuid() == 0


def _count_tasks() -> int:
    """All processes and threads of this machine. The kernel counts this user's other ones against the limit too."""
    return int(Path("/proc/loadavg").read_text("ascii").split()[3].partition("/")[2])


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
