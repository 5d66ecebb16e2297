"""Watcher of one child process: ends the program and its group when the supervisor is gone, even if it was killed.

A script without imports of ours: `python -I -S watcher.py <lifeline> <grace> <folder> <fds> program …`.
`lifeline` is the read end of a pipe whose write end only the supervisor holds, so it reaches its end with the
supervisor. Then the program's group gets SIGTERM, and SIGKILL `grace` seconds later. `folder` is removed at the end
(empty: none), `fds` are passed on to the program (numbers with commas).
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys

POLL_SECONDS = 0.2  # where the system cannot report the end of a process as a descriptor


def main() -> int:
    lifeline, grace_seconds, folder, *rest = sys.argv[1:]
    inherited, program = [int(fd) for fd in rest[0].split(",") if fd], rest[1:]
    child = subprocess.Popen(program, pass_fds=inherited, process_group=0)
    for fd in inherited:
        os.close(fd)  # otherwise a listening socket would stay open after the program's end
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _: signal_group(child.pid, received))
    if wait_for_end(child, int(lifeline)) and float(grace_seconds):
        signal_group(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(float(grace_seconds))
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    signal_group(child.pid, signal.SIGKILL)
    code = child.wait()
    return code if code >= 0 else 128 - code


def wait_for_end(child: "subprocess.Popen[bytes]", lifeline: int) -> bool:
    """Waits until the program has ended (False) or the supervisor is gone (True)."""
    watched = [lifeline]
    if hasattr(os, "pidfd_open"):
        watched.append(os.pidfd_open(child.pid))
    while child.poll() is None:
        ready, _, _ = select.select(watched, [], [], 60 if len(watched) > 1 else POLL_SECONDS)
        if lifeline in ready and not os.read(lifeline, 1):
            return True
    return False


def signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left
        os.killpg(leader, number)


if __name__ == "__main__":
    sys.exit(main())
