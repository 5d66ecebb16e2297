"""`token` in the home: the access token, made once and kept until it is rotated. Readable by its owner only."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from sojourn.core.errors import BadConfig

FILE_NAME = "token"
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_TOKEN = re.compile(r"[\x21-\x7e]{20,1000}")


def read_token(home: Path) -> str | None:
    """The token of this home; None if none was made yet. BadConfig for a file that holds none."""
    file = home / FILE_NAME
    try:
        descriptor = os.open(file, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _to_unusable(file, f"cannot be read: {error.strerror}") from error
    with os.fdopen(descriptor, "rb") as opened:
        if os.fstat(descriptor).st_mode & 0o077:
            file.chmod(0o600)
        text = opened.read(2000).decode("latin-1").strip()
    if not _TOKEN.fullmatch(text):
        raise _to_unusable(file, "holds no token")
    return text


def keep_token(home: Path) -> str:
    """The token of this home, made now if there is none. BadConfig, OSError."""
    if (found := read_token(home)) is not None:
        return found
    temporary = _write_new(home)
    try:
        os.link(temporary, home / FILE_NAME)  # unless another process was first
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    found = read_token(home)
    assert found is not None
    return found


def rotate_token(home: Path) -> str:
    """Replaces the token by a new one. OSError."""
    temporary = _write_new(home)
    token = temporary.read_text("ascii").strip()
    temporary.replace(home / FILE_NAME)
    return token


def _write_new(home: Path) -> Path:
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = home / f".{FILE_NAME}.{secrets.token_hex(8)}"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as opened:
        opened.write(f"{secrets.token_urlsafe(32)}\n")
        opened.flush()
        os.fsync(opened.fileno())
    return file


def _to_unusable(file: Path, why: str) -> BadConfig:
    return BadConfig(f"{file} {why}.", hint="`sojourn token rotate` makes a new token. Browsers then sign in again.")
