"""Notifications between processes: NOTIFY carries the names of changed sessions to every listener."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psycopg

from sojourn.stores.postgres.connect import Connection, PostgresAddress, connect
from sojourn.stores.postgres.db import CHANNEL, send_notification

_FIRST_RETRY_SECONDS = 0.1
_MAX_RETRY_SECONDS = 5.0
_GATHER_SECONDS = 0.05  # how long names gather after a notification was sent


class PostgresNotifier:
    """A thread with a connection of its own that calls `on_notify` with the names in notifications of others, and
    sends ours: a notification is a transaction, so commits that follow each other share one.

    It reconnects after a lost connection and then calls `on_notify(None)`, as notifications may have been missed.
    """

    def __init__(self, address: PostgresAddress, on_notify: Callable[[Iterable[str] | None], None]) -> None:
        self._address, self._on_notify = address, on_notify
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()
        self._nudge: socket.socket | None = None  # writing to it wakes the thread; so does closing it
        self._names = set[str]()  # to send
        self.is_listening = False

    def listen(self) -> None:
        """Starts the listening thread, unless it runs already. Does not wait for its connection."""
        with self._lock:
            if self._thread is None:
                self._is_closing.clear()
                self._nudge, nudged = socket.socketpair()
                nudged.setblocking(False)
                self._thread = threading.Thread(target=self._run, args=(nudged,), name="sojourn-notify", daemon=True)
                self._thread.start()

    def notify(self, names: Iterable[str]) -> None:
        """Has other processes notified of names, in a moment."""
        with self._lock:
            is_nudged = bool(self._names)
            self._names.update(names)
            if self._nudge is not None and not is_nudged:
                self._nudge.send(b"n")

    def _run(self, nudged: socket.socket) -> None:
        pause = _FIRST_RETRY_SECONDS
        with nudged:
            while not self._is_closing.is_set():
                try:
                    with connect(self._address) as connection:
                        connection.execute(f"LISTEN {CHANNEL}".encode())
                        self.is_listening, pause = True, _FIRST_RETRY_SECONDS
                        self._on_notify(None)
                        self._work(connection, nudged)
                except psycopg.Error:
                    pass  # watchers poll until the connection is back
                finally:
                    self.is_listening = False
                self._is_closing.wait(pause)
                pause = min(pause * 2, _MAX_RETRY_SECONDS)

    def _work(self, connection: Connection, nudged: socket.socket) -> None:
        """Receives and sends until it is closed."""
        us, next_send = connection.info.backend_pid, 0.0
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(nudged, selectors.EVENT_READ)
            while not self._is_closing.is_set():
                selector.select(max(0.0, next_send - time.monotonic()) if self._names else None)
                with suppress(BlockingIOError):
                    nudged.recv(64)
                if self._names and time.monotonic() >= next_send:
                    self._send(connection)
                    next_send = time.monotonic() + _GATHER_SECONDS
                for notification in connection.notifies(timeout=0):
                    if notification.pid != us:
                        self._on_notify(notification.payload.split("\n") if notification.payload else None)
            self._send(connection)

    def _send(self, connection: Connection) -> None:
        with self._lock:
            names, self._names = self._names, set()
        try:
            if names:
                send_notification(connection, names)
        except psycopg.Error:
            with self._lock:
                self._names |= names  # sent when the connection is back
            raise

    def close(self) -> None:
        with self._lock:
            thread, nudge, self._thread, self._nudge = self._thread, self._nudge, None, None
        if thread is not None and nudge is not None:
            self._is_closing.set()
            nudge.close()
            thread.join(timeout=15)
