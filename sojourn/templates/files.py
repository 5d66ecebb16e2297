"""Files that several processes share: written whole or not at all, changed one at a time."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sojourn.core.errors import BadInput, StoreFull, StoreReadOnly, StoreUnavailable
from sojourn.core.messages import Json

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


@contextmanager
def hold_lock(file: Path) -> Iterator[None]:
    """Holds an exclusive lock across processes. It is released when its process ends."""
    with translate_errors(file):
        make_folder(file.parent)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(handle)
        yield
    finally:
        os.close(handle)


def _take(handle: int) -> None:
    if sys.platform == "win32":
        while True:
            with suppress(OSError):
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                return
            time.sleep(0.005)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX)


def make_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)


def read_json(file: Path) -> Json:
    """Reads a JSON file. BadInput if that fails."""
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file} is not valid JSON: {error}.", hint="Correct the file, or delete it.") from error
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}.", hint="Check its path and its owner.") from error


def write_json(file: Path, value: Json, *, durable: bool = True) -> None:
    """Writes a value as JSON, see `replace_file`."""
    content = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    replace_file(file, content, durable=durable)


def replace_file(file: Path, content: bytes, *, durable: bool = True) -> None:
    """Replaces the file at once; a reader sees the old or the new one, if it is `durable` also after a power cut."""
    with translate_errors(file):
        make_folder(file.parent)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=file.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


@contextmanager
def translate_errors(file: Path) -> Iterator[None]:
    """Translates an OSError into an error of the store."""
    try:
        yield
    except PermissionError as error:
        raise StoreReadOnly(f"{file} cannot be written: {error.strerror}.", hint="Check who owns it.") from error
    except OSError as error:
        kind = StoreFull if error.errno == 28 else StoreUnavailable
        raise kind(f"{file} cannot be used: {error.strerror}.", hint="Check the disk and the folder.") from error
