"""Notifications between processes: NOTIFY carries the names of changed sessions to every listener."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterable

import psycopg

from sojourn.stores.postgres.connect import Connection, PostgresAddress, connect
from sojourn.stores.postgres.db import CHANNEL

_FIRST_RETRY_SECONDS = 0.1
_MAX_RETRY_SECONDS = 5.0


class PostgresNotifier:
    """A thread with a connection of its own that calls `on_notify` with the names in each notification.

    It reconnects after a lost connection and then calls `on_notify(None)`, as notifications may have been missed.
    """

    def __init__(self, address: PostgresAddress, on_notify: Callable[[Iterable[str] | None], None]) -> None:
        self._address, self._on_notify = address, on_notify
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()
        self._stop: socket.socket | None = None  # closing it wakes the thread
        self.is_listening = False

    def listen(self) -> None:
        """Starts the listening thread, unless it runs already. Does not wait for its connection."""
        with self._lock:
            if self._thread is None:
                self._is_closing.clear()
                self._stop, stopped = socket.socketpair()
                self._thread = threading.Thread(target=self._run, args=(stopped,), name="sojourn-notify", daemon=True)
                self._thread.start()

    def _run(self, stopped: socket.socket) -> None:
        pause = _FIRST_RETRY_SECONDS
        with stopped:
            while not self._is_closing.is_set():
                try:
                    with connect(self._address) as connection:
                        connection.execute(f"LISTEN {CHANNEL}".encode())
                        self.is_listening, pause = True, _FIRST_RETRY_SECONDS
                        self._on_notify(None)
                        self._receive(connection, stopped)
                except psycopg.Error:
                    pass  # watchers poll until the connection is back
                finally:
                    self.is_listening = False
                self._is_closing.wait(pause)
                pause = min(pause * 2, _MAX_RETRY_SECONDS)

    def _receive(self, connection: Connection, stopped: socket.socket) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(stopped, selectors.EVENT_READ)
            while not self._is_closing.is_set():
                selector.select()
                for notification in connection.notifies(timeout=0):
                    self._on_notify(notification.payload.split("\n") if notification.payload else None)

    def close(self) -> None:
        with self._lock:
            thread, stop, self._thread, self._stop = self._thread, self._stop, None, None
        if thread is not None and stop is not None:
            self._is_closing.set()
            stop.close()
            thread.join(timeout=15)
