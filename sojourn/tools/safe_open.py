"""Opens and replaces files step by step, without following links: what is swapped in between is refused.

Imports nothing heavy: a search runs this in a process of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.errors import BadInput, Conflict, NotAllowed

_MAGIC = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive (or office document)"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "gzip data"),
    (b"SQLite format 3", "an SQLite database"),
    (b"(\xb5/\xfd", "zstd data"),
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_STEP = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", 0)  # with O_PATH a folder need not be readable


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path without links or `..`. `shown` is its shortest form for people."""

    path: Path
    root: Path
    inside: bool

    @property
    def base(self) -> Path:
        """The folder from which it is reached without following links."""
        return self.root if self.inside else Path(self.path.anchor)

    @property
    def shown(self) -> str:
        return str(self.path.relative_to(self.root)) if self.inside else str(self.path)


@dataclass(frozen=True, slots=True)
class FileDraft:
    """One file before and after a call; None: it does not exist."""

    place: ResolvedPath
    before: bytes | None
    after: bytes | None


def binary_kind(raw: bytes) -> str:
    """Names the kind of binary data by its first bytes; empty for text."""
    for magic, kind in _MAGIC:
        if raw.startswith(magic):
            return kind
    return "binary data" if b"\0" in raw[:8192] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")) else ""


def open_folder(base: Path, folder: Path, *, make: bool = False) -> int:
    """Opens a folder below `base` without following a link, in the way to `base` neither. `make` makes what is missing.

    base: a real path, so that a link in it was put there meanwhile
    """
    here = os.open(base.anchor, _FOLDER)
    steps = folder.parts[1:]
    known = len(base.parts) - 1
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        try:
            if make and number >= known:
                with suppress(FileExistsError):
                    os.mkdir(step, dir_fd=here)
            below = os.open(step, (_FOLDER if is_last else _STEP) | os.O_NOFOLLOW, dir_fd=here)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):  # a file, or a link that was not there a moment ago
                raise NotAllowed(f"{folder} is not a folder (any more).", hint="Look at it again first.") from error
            raise
        finally:
            os.close(here)
        here = below
    return here


def open_file(place: ResolvedPath) -> int:
    """Opens a regular file for reading: no device, no pipe, no link put there meanwhile."""
    where = open_folder(place.base, place.path.parent)
    try:
        file = os.open(place.path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=where)
    except OSError as error:
        if error.errno == errno.ELOOP:  # it was made real a moment ago
            raise NotAllowed(f"{place.shown} became a link meanwhile.", hint="Look at it again first.") from error
        raise
    finally:
        os.close(where)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise BadInput(f"{place.shown} is no ordinary file.", hint="Devices, pipes and sockets are not read.")
    return file


def write_file_at(place: ResolvedPath, data: bytes, *, mode: int = 0) -> bool:
    """Replaces a file in one step, with the permissions of the old one; a new one gets `mode`. True when it is new."""
    where = open_folder(place.root, place.path.parent, make=True)
    draft = f".sojourn-{os.urandom(6).hex()}"
    try:
        old = _stat_existing(place, where)
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=where)
        with open(file, "wb") as out:  # noqa: PTH123 - by descriptor
            out.write(data)
            if old is not None or mode:
                os.fchmod(file, (stat.S_IMODE(old.st_mode) if old else mode) & 0o777)  # never another user's rights
            out.flush()
            os.fsync(file)
            os.rename(draft, place.path.name, src_dir_fd=where, dst_dir_fd=where)
            _require_written(place, where, file)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=where)
        raise
    finally:
        os.close(where)
    return old is None


def _require_written(place: ResolvedPath, where: int, file: int) -> None:
    """Raises Conflict when what has the name now is not the file that was written."""
    try:
        if os.path.samestat(os.stat(place.path.name, dir_fd=where, follow_symlinks=False), os.fstat(file)):
            return
    except FileNotFoundError:
        pass
    raise Conflict(f"{place.shown} was replaced by somebody else while it was written.", hint="Look at it again.")


def _stat_existing(place: ResolvedPath, where: int) -> os.stat_result | None:
    try:
        found = os.stat(place.path.name, dir_fd=where, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise BadInput(f"{place.shown} is no ordinary file.", hint="Choose another name, or remove it first.")
    return found


def remove_file_at(place: ResolvedPath) -> None:
    """Removes a file (or a link, never what it leads to)."""
    where = open_folder(place.root, place.path.parent)
    try:
        os.unlink(place.path.name, dir_fd=where)
    finally:
        os.close(where)
