"""Storage for scan documents: an interface, and its implementation in a folder.

Documents are small texts with names. A write replaces the whole document or nothing of it, and leaves a copy
that survives if the document itself is damaged later. The journal only grows. One process at a time scans.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_COPY_SUFFIX = ".last"


class ScanLock(Protocol):
    """The right to scan, held until it is released or the process ends."""

    def release(self) -> None: ...


class DocumentStore(Protocol):
    """Stores the documents of one history's scans. Errors are OSErrors."""

    def read(self, name: str, is_good: Callable[[bytes], bool]) -> bytes | None:
        """The document, or its last good copy if `is_good` rejects it; None if it was never written."""
        ...

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """`durable` waits for the disk and keeps a last good copy; without it the document may be lost, never torn."""
        ...

    def append(self, name: str, data: bytes) -> None: ...
    def remove(self, name: str) -> None: ...

    def version(self, name: str) -> object:
        """A value that changes when the document does."""
        ...

    def try_lock(self) -> ScanLock | None:
        """The right to scan, or None while another process has it."""
        ...


class FolderStore:
    """Documents as files that only their owner may read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str, is_good: Callable[[bytes], bool]) -> bytes | None:
        data = _read_bytes(self.folder / name)
        if data is None or is_good(data):
            return data
        copy = _read_bytes(self.folder / (name + _COPY_SUFFIX))
        return copy if copy is not None and is_good(copy) else None

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self.folder / name, data, durable=durable)
        if durable:
            replace_file(self.folder / (name + _COPY_SUFFIX), data, durable=False)

    def append(self, name: str, data: bytes) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            left = memoryview(data)
            while left:  # a write to a nearly full disk may be partial
                left = left[os.write(file, left) :]
        finally:
            os.close(file)

    def remove(self, name: str) -> None:
        for path in (self.folder / name, self.folder / (name + _COPY_SUFFIX)):
            path.unlink(missing_ok=True)

    def version(self, name: str) -> object:
        try:
            stat = (self.folder / name).stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def try_lock(self) -> ScanLock | None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = os.open(self.folder / "scan.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return _FileLock(None)  # a read-only folder: no other process can write there either
        try:
            if sys.platform == "win32":
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
        return _FileLock(file)


class _FileLock:
    def __init__(self, file: int | None) -> None:
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)  # closing releases the lock


def _read_bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def replace_file(path: Path, data: bytes, *, durable: bool = True, keep_mode: bool = False) -> None:
    """Replaces a file atomically: writes a temporary file, syncs it if `durable`, and renames it.

    Only the owner may read the new file; with `keep_mode` an existing file keeps its mode.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if keep_mode and path.exists():
            shutil.copymode(path, name)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
