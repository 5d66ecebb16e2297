"""Landlock: a process restricts which files and TCP ports it and its children may use, for good.

Needs Linux 5.13 or newer. Elsewhere `restrict_self` returns False, and the program can do what its user can.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls; the same on every architecture
_PR_SET_NO_NEW_PRIVS = 38  # an option number of prctl
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_ALL = (1 << 13) - 1  # the rights of version 1: also write, remove, create
_ADDED_RIGHTS = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # by version: refer (rename elsewhere), truncate, device ioctl
_FILE_RIGHTS = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # rights that make sense for a single file
_TCP = 1 << 0 | 1 << 1  # bind, connect
_SCOPES = 1 << 0 | 1 << 1  # abstract sockets and signals of processes outside


def landlock_version() -> int:
    """The version of this kernel's Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1)))


def restrict_self(
    read: Iterable[str | os.PathLike[str]],
    write: Iterable[str | os.PathLike[str]],
    *,
    files: bool = False,
    network: bool = False,
) -> bool:
    """Restricts this thread and everything it starts; returns whether the restriction is in force.

    read: files and folders that may be read and executed
    write: files and folders that may also be changed
    files: leaves the file system open
    network: leaves the network open
    """
    known = landlock_version()
    if not known:
        return False
    rights = _ALL | sum(bit for since, bit in _ADDED_RIGHTS.items() if known >= since)
    handled = struct.pack(
        "=QQQ", 0 if files else rights, _TCP if known >= 4 and not network else 0, _SCOPES if known >= 6 else 0
    )
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = libc.syscall(_CREATE_RULESET, handled, 8 if known < 4 else 16 if known < 6 else 24, 0)
    if ruleset < 0:
        return False  # nothing to restrict, or not permitted here
    try:
        if not files:
            for paths, allowed in ((read, _READ), (write, rights)):
                for path in paths:
                    _add_rule(libc, ruleset, path, allowed & rights)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _add_rule(libc: ctypes.CDLL, ruleset: int, path: str | os.PathLike[str], rights: int) -> None:
    try:
        file = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # a path that does not exist needs no rule
    try:
        rule = struct.pack("=Qi", rights if os.path.isdir(path) else rights & _FILE_RIGHTS, file)  # noqa: PTH112
        libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
    finally:
        os.close(file)
