"""Notifications between processes that share a SQLite file.

Each listening process has a datagram socket `<home>/run/bell-*`; after a commit the writer sends the
names of the changed sessions to each. Where there are no such sockets (or the path is too long for
one) listeners poll `PRAGMA data_version` every few milliseconds. Listeners with a socket poll it
once a second too, so a lost datagram causes a delay and never a lost message.
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

_SOCKET_POLL_SECONDS = 1.0
_FAST_POLL_SECONDS = 0.01  # without a socket, after a change
_SLOW_POLL_SECONDS = 0.05  # without a socket, while nothing changes
_MAX_DATAGRAM_BYTES = 32_000


class SqliteNotifier:
    """Notifies other processes of commits, and calls `on_notify` with the names in their notifications."""

    def __init__(self, run: Path, on_notify: Callable[[Iterable[str] | None], None], path: Path) -> None:
        self._run, self._on_notify, self._path = run, on_notify, path
        self._socket: socket.socket | None = None
        self._own_path: Path | None = None
        self._run_descriptor = -1
        self._run_mtime_ns, self._sockets = -1, list[str]()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._sender: socket.socket | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def notify(self, names: Iterable[str]) -> None:
        """Sends the names of sessions and topics to every other process that listens."""
        others = [name for name in self._list_sockets() if self._own_path is None or name != self._own_path.name]
        if not others:
            return
        datagram = "\n".join(names).encode("utf-8", "replace")
        sender = self._open_sender()
        for name in others if sender else ():
            self._send(sender, name, datagram if len(datagram) < _MAX_DATAGRAM_BYTES else b"")

    def _list_sockets(self) -> list[str]:
        """Lists the sockets of listening processes; reads the folder only if it has changed."""
        try:
            changed = self._run.stat().st_mtime_ns
            if changed != self._run_mtime_ns or time.time_ns() - changed < 50_000_000:
                self._sockets = [entry.name for entry in self._run.iterdir() if entry.name.startswith("bell-")]
                self._run_mtime_ns = changed
        except OSError:
            return []
        return self._sockets

    def _open_sender(self) -> socket.socket | None:
        with self._lock:
            if self._sender is None and not self._is_closed and hasattr(socket, "AF_UNIX"):
                self._sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                self._sender.setblocking(False)
            return None if self._is_closed else self._sender

    def _send(self, sender: socket.socket | None, name: str, datagram: bytes) -> None:
        try:
            if sender:
                sender.sendto(datagram, self._address(name))
        except ConnectionRefusedError:
            (self._run / name).unlink(missing_ok=True)  # its process has died
        except OSError:
            pass  # its buffer is full, so it will wake up anyway; after other errors it polls

    def _address(self, name: str) -> str:
        """Returns a path for the socket that fits its limit of about 100 bytes, even in a deep home folder."""
        path = str(self._run / name)
        if len(path.encode()) < 100 or not Path("/proc/self/fd").is_dir():
            return path
        if self._run_descriptor < 0:
            self._run_descriptor = os.open(self._run, os.O_RDONLY)
        return f"/proc/self/fd/{self._run_descriptor}/{name}"

    def listen(self) -> None:
        """Starts the listening thread, unless it runs already."""
        with self._lock:
            if self._thread is not None or self._closing.is_set():
                return
            self._bind()
            self._thread = threading.Thread(target=self._run_listener, name="sojourn-notify", daemon=True)
            self._thread.start()

    def _bind(self) -> None:
        name = f"bell-{os.getpid()}-{time.monotonic_ns():x}"
        try:
            bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            bound.bind(self._address(name))
        except (OSError, AttributeError):
            return  # no socket possible: the thread polls
        (self._run / name).chmod(0o600)
        bound.settimeout(_SOCKET_POLL_SECONDS)
        self._socket, self._own_path = bound, self._run / name

    def _run_listener(self) -> None:
        connection = connect(self._path, read_only=True)
        try:
            self._receive(connection)
        finally:
            connection.close()

    def _receive(self, connection: sqlite3.Connection) -> None:
        last_version, pause = _data_version(connection), _SLOW_POLL_SECONDS
        while not self._closing.is_set():
            if self._socket is not None:
                try:
                    datagram = self._socket.recv(_MAX_DATAGRAM_BYTES)
                except TimeoutError:
                    datagram = None
                except OSError:
                    return
                if datagram is not None:
                    self._on_notify(datagram.decode("utf-8", "replace").split("\n") if datagram else None)
                    continue
            else:
                self._closing.wait(pause)
            version = _data_version(connection)
            pause = _FAST_POLL_SECONDS if version != last_version else min(_SLOW_POLL_SECONDS, pause * 1.2)
            if version != last_version:
                last_version = version
                self._on_notify(None)

    def stop_listening(self) -> None:
        """Stops the listening thread; `notify` still works."""
        with self._lock:
            self._closing.set()
        if self._thread is not None:
            self._send(self._open_sender(), self._own_path.name if self._own_path else "", b"")
            self._thread.join(timeout=5)
        if self._own_path is not None:
            self._own_path.unlink(missing_ok=True)
        if self._socket is not None:
            self._socket.close()

    def close(self) -> None:
        """Stops listening and sending. A later `notify` does nothing."""
        self.stop_listening()
        with self._lock:
            self._is_closed = True
            if self._sender is not None:
                self._sender.close()
        if self._run_descriptor >= 0:
            os.close(self._run_descriptor)
            self._run_descriptor = -1


def _data_version(connection: sqlite3.Connection) -> int:
    """Returns a number that changes with every commit of another connection."""
    try:
        return int(connection.execute("PRAGMA data_version").fetchone()[0])
    except sqlite3.Error:
        return -1
