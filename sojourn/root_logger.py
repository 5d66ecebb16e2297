"""Root logger: where everything goes that we or a library log, redacted and limited in size.

It is set up before anything else is imported. A library that calls `logging.basicConfig` finds it in place and changes
nothing. Our own messages count from INFO on, those of libraries from WARNING on.
"""

from __future__ import annotations

import logging
import os
import stat
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from sojourn.text.redaction import redact

MAX_BYTES = 1_000_000  # of one file; the one before is kept beside it
MAX_CHARS = 20_000  # of one entry
_REDACTED_CHARS = 200_000  # more of an entry is not even redacted
_FORMAT = "%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"

FindHome = Callable[[], Path]


class RedactingFormatter(logging.Formatter):
    """Redacts a whole entry, the traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record)[:_REDACTED_CHARS])[:MAX_CHARS]


class LogFile(logging.Handler):
    """Appends to `logs/sojourn.log` of the home, which all processes share. Opens it with the first entry."""

    def __init__(self, find_home: FindHome) -> None:
        super().__init__()
        self._find_home = find_home
        self._descriptor: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record).encode("utf-8", "replace") + b"\n"
            os.write(self._open(), line)
        except Exception:  # noqa: BLE001  an entry that cannot be written must not end the program
            self.close_file()

    def _open(self) -> int:
        """The file, after moving a full one aside; another process may have done so already."""
        file = self._find_home() / "logs" / "sojourn.log"
        if self._descriptor is not None:
            ours = os.fstat(self._descriptor)
            is_current = file.exists() and file.stat().st_ino == ours.st_ino
            if is_current and ours.st_size < MAX_BYTES:
                return self._descriptor
            self.close_file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if file.exists() and file.stat().st_size >= MAX_BYTES:
            file.replace(file.with_name("sojourn.log.1"))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(file, flags, 0o600)
        if hasattr(os, "fchmod"):
            os.fchmod(self._descriptor, 0o600)
        return self._descriptor

    def close_file(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def close(self) -> None:
        self.close_file()
        super().close()


def set_up_root_logger(find_home: FindHome | None) -> None:
    """Makes the root logger ours. Without a home (a confined process), entries go to standard error only."""
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one.formatter, RedactingFormatter)]:
        root.removeHandler(handler)  # of an earlier command in this process
        handler.close()
    if find_home is not None:
        _add(root, LogFile(find_home))
    if find_home is None or not _is_file(sys.stderr):  # a detached server's error output is a file without a limit
        screen = logging.StreamHandler()
        screen.setLevel(logging.WARNING)
        _add(root, screen)
    root.setLevel(logging.WARNING)
    logging.getLogger("sojourn").setLevel(logging.INFO)
    sys.excepthook = _report
    threading.excepthook = lambda given: _report(given.exc_type, given.exc_value, given.exc_traceback)


def _add(root: logging.Logger, handler: logging.Handler) -> None:
    handler.setFormatter(RedactingFormatter(_FORMAT if isinstance(handler, LogFile) else None))
    root.addHandler(handler)


def _is_file(stream: object) -> bool:
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False


def _report(kind: type[BaseException], error: BaseException | None, at: TracebackType | None) -> None:
    """Prints an exception that nobody caught."""
    if kind is not SystemExit and sys.stderr is not None:
        sys.stderr.write(redact("".join(traceback.format_exception(kind, error, at))))
