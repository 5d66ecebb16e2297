"""Launcher: forks; the child takes limits and restrictions upon itself and becomes the program, the parent watches it.

Runs in a process of its own: `python -I -S -c "… from sojourn.sandbox.launcher import main; main()" <plan> program …`.
It is on the way of every command, so it imports little, and it never starts a program unconfined. Exit code 126: a
restriction could not be applied, or the program could not be started; stderr says which.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import signal
import struct
import sys

from sojourn.sandbox.landlock import restrict_self
from sojourn.sandbox.monitor import WAITED_SIGNALS, prepare_monitor, watch_program
from sojourn.sandbox.seccomp import install_filter

TYPE_CHECKING = False  # typing takes a while to import
if TYPE_CHECKING:
    from typing import Any, NoReturn

_LIMITS = {
    "processes": resource.RLIMIT_NPROC,
    "file_bytes": resource.RLIMIT_FSIZE,
    "open_files": resource.RLIMIT_NOFILE,
    "cpu_seconds": resource.RLIMIT_CPU,
}
_KEPT_CAPABILITIES = 1 << 0 | 1 << 1 | 1 << 3  # chown, override of permissions, change of others' files: all by path
_LAST_CAPABILITY = 63  # the highest number a capability can have
_PR_CAPBSET_DROP = 24  # an option number of prctl
_CAPABILITY_VERSION = 0x20080522
_REFUSED_EXIT_CODE = 126
_NICENESS = 5  # whoever waits for an answer of the server comes first


def main() -> NoReturn:
    plan: dict[str, Any] = marshal.loads(bytes.fromhex(sys.argv[1]))
    prepare_monitor()
    program = os.fork()
    if program == 0:
        become_program(plan, sys.argv[2:])
    os.close(0)  # only the program holds its input and its output
    os.close(1)
    code = watch_program(program, plan["tree"], own_namespace=plan["own_namespace"])
    if code < 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)


def become_program(plan: dict[str, Any], program: list[str]) -> NoReturn:
    """Restricts this process, then executes the program."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED_SIGNALS)
    set_limits(plan["limits"])
    os.nice(_NICENESS)
    drop_capabilities()
    if not restrict_self(plan["read"], plan["write"], network=plan["network"]):
        _refuse("Landlock cannot be used")
    if not install_filter(network=plan["network"], shared_memory=plan["own_namespace"]):
        _refuse("seccomp cannot be used")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the program would inherit that
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(program[0], program)
    except OSError as error:
        _refuse(f"{program[0]}: {error.strerror}")


def set_limits(limits: dict[str, int]) -> None:
    """Lowers the limits of this process; one that is lower already stays."""
    for name, most in {**limits, "core": 0}.items():
        kind = resource.RLIMIT_CORE if name == "core" else _LIMITS[name]
        hard = resource.getrlimit(kind)[1]
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (wanted, wanted))


def drop_capabilities() -> None:
    """Gives up all rights of a superuser but those over files, which the other restrictions hold in bounds."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    for number in range(_LAST_CAPABILITY + 1):
        if not _KEPT_CAPABILITIES >> number & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    kept = struct.pack("=III", _KEPT_CAPABILITIES, _KEPT_CAPABILITIES, 0) + struct.pack("=III", 0, 0, 0)
    if libc.capset(header, kept) != 0:
        libc.capset(header, bytes(24))


def _refuse(reason: str) -> NoReturn:
    sys.stderr.write(f"sandbox: {reason}; nothing was started.\n")
    sys.stderr.flush()
    os._exit(_REFUSED_EXIT_CODE)
