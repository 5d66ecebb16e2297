"""Opens files of another program: regular files only, so that no pipe or device can hold us up or never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MAX_FILE_BYTES = 512 << 20  # of one session, after decompression
MAX_LINE_BYTES = 32 << 20
_NOT_REGULAR = "it is not a regular file"


def open_descriptor(path: Path) -> int:
    """Opens a file for reading; OSError also if it is a pipe, a device or a socket. Links are followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))  # a FIFO opens at once
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_regular(path: Path) -> BinaryIO:
    return os.fdopen(open_descriptor(path), "rb")


def read_regular(path: Path, max_bytes: int = MAX_LINE_BYTES) -> bytes:
    """All of a small file. OSError, also if it is larger than `max_bytes`."""
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes >> 20} MB", str(path))
    return content


def read_head(path: Path, max_bytes: int) -> bytes:
    """The beginning of a file. OSError."""
    with open_regular(path) as file:
        return file.read(max_bytes)
