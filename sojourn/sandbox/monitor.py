"""Monitor: the parent of a confined program. Holds its whole tree to limits and ends all of it with the program.

It is the tree's subreaper: a process that leaves its parent, its session and its environment becomes a child of the
monitor, so that nothing can hide. It is on the way of every command, so it imports little.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

TYPE_CHECKING = False  # typing takes a while to import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FAST_POLL_SECONDS, SLOW_POLL_SECONDS = 0.05, 0.2
FAST_SECONDS = 2.0  # after its start a program is looked at more often
TERM_GRACE_SECONDS = 0.5  # between a request to end and the end; shorter than the supervisor's and the watcher's
ENDED_EXIT_CODE = 137  # of a tree that was over a limit
LEAST_FREE_BYTES = 256 << 20  # of a disk that a program has been filling
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # option numbers of prctl
_MANY_PROCESSES = 50  # more are not counted exactly
_MOST_ROUNDS = 10_000  # of killing; a process in an uninterruptible wait ends when the kernel lets it
_PARENT_GONE = signal.SIGUSR1
WAITED_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, _PARENT_GONE)
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def prepare_monitor() -> None:
    """Makes this process the subreaper of what it starts. Its signals wait from here on."""
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_SIGNALS)
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, _PARENT_GONE, 0, 0, 0)


def watch_program(program: int, limits: dict[str, Any], *, own_namespace: bool) -> int:
    """Waits for the end of the program, ends what it left, and returns the exit code.

    limits: `processes`, `memory_bytes` with `memory_setting`, `seconds`, and `folders` on disks that may be filled;
        each may be missing
    own_namespace: all processes that this one can see belong to the tree
    """
    _raise_priority()
    started = looked_at = time.monotonic()
    asked_at, reason = 0.0, ""
    watched = [one for one in limits.get("folders", ()) if _free_bytes(one) > LEAST_FREE_BYTES]
    status: int | None = None
    while status is None and not reason:
        pause = FAST_POLL_SECONDS if looked_at - started < FAST_SECONDS else SLOW_POLL_SECONDS
        received = signal.sigtimedwait(WAITED_SIGNALS, pause)
        number, now = received.si_signo if received is not None else 0, time.monotonic()
        if number == _PARENT_GONE or (asked_at and now - asked_at > TERM_GRACE_SECONDS):
            break
        if number and number != signal.SIGCHLD and not asked_at:
            asked_at = now
            os.kill(program, number)
        status = _reap(program)
        if status is None and now - looked_at >= pause:  # also when children end without a pause
            looked_at = now
            reason = _find_excess(limits, now - started, watched)
    left = _end_tree(own_namespace=own_namespace)
    if reason:
        sys.stderr.write(f"\nsandbox: the command was ended with everything it started: {reason}.\n")
        return ENDED_EXIT_CODE
    if left and status is not None:
        sys.stderr.write(
            f"\nsandbox: {left} processes it left running were ended. To keep one, use the process tool.\n"
        )
    return ENDED_EXIT_CODE if status is None else os.waitstatus_to_exitcode(status)


def _raise_priority() -> None:
    """Comes before thousands of processes. Only a superuser may; others have a limit in the kernel instead."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    except OSError:
        return


def _reap(program: int) -> int | None:
    """Takes in ended processes; the status of the program when it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found = status if pid == program else found


def _find_excess(limits: dict[str, Any], age: float, watched: list[str]) -> str:
    """The limit that the tree is over, in words; empty when it keeps them all."""
    if limits.get("seconds") and age > limits["seconds"]:
        return f"it took longer than {limits['seconds']:g} seconds"
    most = limits.get("processes")
    tasks, memory, tree = 0, 0, []
    for pid, threads in list_tree(_own_pid()):
        tasks += threads
        memory += _resident_bytes(pid)
        tree.append(pid)
        if most and tasks > most:
            return f"it has more than {most} processes and threads (tools.processes)"
    allowed = limits.get("memory_bytes")
    if allowed and memory > allowed and _count_memory(tree) > allowed:
        return f"its processes together use more than {allowed >> 20} MB of memory ({limits['memory_setting']})"
    if any(_free_bytes(one) < LEAST_FREE_BYTES for one in watched):
        return f"the disk has less than {LEAST_FREE_BYTES >> 20} MB left"
    return ""


def list_tree(root: int) -> Iterator[tuple[int, int]]:
    """Yields every descendant of a process and how many threads it has."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        except OSError:
            continue  # it has ended
        if pid != root:
            yield pid, len(threads)
        for thread in threads:
            waiting += map(int, _read(f"/proc/{pid}/task/{thread}/children").split())


def _count_memory(tree: list[int]) -> int:
    """The memory of processes, where shared pages count once; of one that cannot be looked into, all it has."""
    total = _system_v_bytes()
    for pid in tree:
        fields = dict(line.split(b":", 1) for line in _read(f"/proc/{pid}/smaps_rollup").splitlines() if b":" in line)
        parts = [fields.get(name) for name in (b"Pss_Anon", b"Pss_Shmem")]
        if None in parts:
            total += _resident_bytes(pid)
        else:
            total += sum(int(part.split()[0]) << 10 for part in parts if part)
    return total


def _system_v_bytes() -> int:
    rows = [line.split() for line in _read("/proc/sysvipc/shm").splitlines()[1:]]
    return sum(int(row[14]) for row in rows if len(row) > 14)


def _resident_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return int(fields[1]) * _PAGE_BYTES if len(fields) > 1 else 0


def _free_bytes(folder: str) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize


def _end_tree(*, own_namespace: bool) -> int:
    """Kills until no child is left, which the kernel confirms; returns how many were left at first."""
    root, first = _own_pid(), 0
    for round_number in range(_MOST_ROUNDS):
        for pid, _ in list_tree(root):
            first += round_number == 0
            if not own_namespace:
                _kill(pid)
            elif round_number or first > _MANY_PROCESSES:
                break
        if own_namespace:
            _kill(-1)  # all but this process and the namespace's first one, at once
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        time.sleep(0.002 if round_number else 0)
    return first


def _own_pid() -> int:
    """This process's number in /proc, which may be that of the namespace outside."""
    return int(os.readlink("/proc/self"))  # noqa: PTH115


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(file, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(file)
