"""The doorbell: another process learns of a commit at once.

Each listening process has a datagram socket in `<home>/run/`; after a commit the writer sends
the names of the touched sessions to each. Where there are no such sockets (or the path is too
long for one) listeners look at `PRAGMA data_version` every few milliseconds instead; and in any
case now and then, so that a lost ring costs a moment and never a message.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from sojourn.stores.sqlite.connect import connect

_SAFETY = 1.0
_FAST, _SLOW = 0.01, 0.05  # looking without a bell: soon after something happened, and later
_MOST = 32_000  # bytes of session names in one ring


class Bell:
    """Rings others, and tells `heard` what others rang."""

    def __init__(self, run: Path, heard: Callable[[Iterable[str] | None], None], path: Path) -> None:
        self._run, self._heard, self._path = run, heard, path
        self._socket: socket.socket | None = None
        self._own: Path | None = None
        self._folder = -1
        self._seen, self._listening = -1, list[str]()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._sender: socket.socket | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def ring(self, sessions: Iterable[str]) -> None:
        """Tells every other process that listens."""
        others = [name for name in self._others() if self._own is None or name != self._own.name]
        if not others:
            return
        word = "\n".join(sessions).encode("utf-8", "replace")
        sender = self._out()
        for name in others if sender else ():
            self._send(sender, name, word if len(word) < _MOST else b"")

    def _others(self) -> list[str]:
        """Who listens. The folder is read again only when something came or went."""
        try:
            changed = self._run.stat().st_mtime_ns
            if changed != self._seen or time.time_ns() - changed < 50_000_000:
                self._listening = [entry.name for entry in self._run.iterdir() if entry.name.startswith("bell-")]
                self._seen = changed
        except OSError:
            return []
        return self._listening

    def _out(self) -> socket.socket | None:
        with self._lock:
            if self._sender is None and not self._is_closed and hasattr(socket, "AF_UNIX"):
                self._sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._sender.setblocking(False)
            return None if self._is_closed else self._sender

    def _send(self, sender: socket.socket | None, name: str, word: bytes) -> None:
        try:
            if sender:
                sender.sendto(word, self._address(name))
        except ConnectionRefusedError:
            (self._run / name).unlink(missing_ok=True)  # its process is gone
        except OSError:
            pass  # full: it has rings waiting already. Anything else: it will look by itself

    def _address(self, name: str) -> str:
        """A short name for the socket: the path of a home may be longer than a socket's may be."""
        path = str(self._run / name)
        if len(path.encode()) < 100 or not Path("/proc/self/fd").is_dir():
            return path
        if self._folder < 0:
            self._folder = os.open(self._run, os.O_RDONLY)
        return f"/proc/self/fd/{self._folder}/{name}"

    def listen(self) -> None:
        """From now on rings are heard. Asking twice is fine."""
        with self._lock:
            if self._thread is not None or self._closing.is_set():
                return
            self._bind()
            self._thread = threading.Thread(target=self._listen, name="sojourn-bell", daemon=True)
            self._thread.start()

    def _bind(self) -> None:
        name = f"bell-{os.getpid()}-{time.monotonic_ns():x}"
        try:
            bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            bound.bind(self._address(name))
        except (OSError, AttributeError):
            return  # no bell here: the thread looks by itself
        (self._run / name).chmod(0o600)
        bound.settimeout(_SAFETY)
        self._socket, self._own = bound, self._run / name

    def _listen(self) -> None:
        connection = connect(self._path, read_only=True)
        try:
            self._until_closed(connection)
        finally:
            connection.close()

    def _until_closed(self, connection: sqlite3.Connection) -> None:
        seen, pause = _version(connection), _SLOW
        while not self._closing.is_set():
            if self._socket is not None:
                try:
                    word = self._socket.recv(_MOST)
                except TimeoutError:
                    word = None
                except OSError:
                    return
                if word is not None:
                    self._heard(word.decode("utf-8", "replace").split("\n") if word else None)
                    continue
            else:
                self._closing.wait(pause)
            now = _version(connection)
            pause = _FAST if now != seen else min(_SLOW, pause * 1.2)
            if now != seen:
                seen = now
                self._heard(None)

    def stop_listening(self) -> None:
        """Hears nothing more; it can still ring."""
        with self._lock:
            self._closing.set()
        if self._thread is not None:
            self._send(self._out(), self._own.name if self._own else "", b"")
            self._thread.join(timeout=5)
        if self._own is not None:
            self._own.unlink(missing_ok=True)
        if self._socket is not None:
            self._socket.close()

    def close(self) -> None:
        """When the last commit was rung. Whoever rings after that is not heard, and leaves nothing open."""
        self.stop_listening()
        with self._lock:
            self._is_closed = True
            if self._sender is not None:
                self._sender.close()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1


def _version(connection: sqlite3.Connection) -> int:
    """A number that changes with every commit of another connection; cheap to ask."""
    try:
        return int(connection.execute("PRAGMA data_version").fetchone()[0])
    except sqlite3.Error:
        return -1
