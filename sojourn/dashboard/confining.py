"""Landlock: what a program may touch is said once, by itself, and cannot be taken back. Linux 5.13 and newer.

Without it (another system, an older kernel) a plugin's program can do what its owner can; `confine` says which.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_NO_NEW_PRIVILEGES = 38
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read a file, list a folder
_ALL = (1 << 13) - 1  # what the first version knows: also write, remove, make
_MORE = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # by version: refer (rename elsewhere), truncate, device ioctl
_FILES_ONLY = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15  # rights that make sense for a single file
_TCP = 1 << 0 | 1 << 1  # bind, connect
_SCOPES = 1 << 0 | 1 << 1  # sockets without a file, and signals, of processes outside


def version() -> int:
    """Of this kernel's Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE, None, 0, 1)))


def confine(read: Iterable[Path], write: Iterable[Path], *, files: bool, network: bool) -> bool:
    """From now on this thread, and all it starts, may only do that. Whether that is so now.

    `files` and `network` leave that side open.
    """
    known = version()
    if not known:
        return False
    rights = _ALL | sum(bit for since, bit in _MORE.items() if known >= since)
    handled = struct.pack(
        "=QQQ", 0 if files else rights, _TCP if known >= 4 and not network else 0, _SCOPES if known >= 6 else 0
    )
    libc = ctypes.CDLL(None, use_errno=True)
    ruleset = libc.syscall(_CREATE, handled, 8 if known < 4 else 16 if known < 6 else 24, 0)
    if ruleset < 0:
        return False  # nothing to restrict, or not allowed here
    try:
        if not files:
            for paths, allowed in ((read, _READ), (write, rights)):
                for path in paths:
                    _allow(libc, ruleset, path, allowed & rights)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(libc.syscall(_RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no leave
    try:
        rule = struct.pack("=Qi", rights if path.is_dir() else rights & _FILES_ONLY, place)
        libc.syscall(_ADD, ruleset, 1, rule, 0)
    finally:
        os.close(place)
