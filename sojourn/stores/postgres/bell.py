"""The doorbell: NOTIFY carries the names of touched sessions to everybody who listens."""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable, Iterable

import psycopg

from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.connect import Connection, connect
from sojourn.stores.postgres.db import CHANNEL

_FIRST, _LONGEST = 0.1, 5.0  # seconds between two attempts to get the line back


class Bell:
    """One thread with a connection of its own tells `heard` who was rung. A lost line is taken up again,
    and then everybody is woken: what was rung in between is not known."""

    def __init__(self, address: Address, heard: Callable[[Iterable[str] | None], None]) -> None:
        self._address, self._heard = address, heard
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._stop: socket.socket | None = None  # closing it ends the wait
        self.is_listening = False

    def listen(self) -> None:
        """From now on rings are heard. Returns at once; asking twice is fine."""
        with self._lock:
            if self._thread is None:
                self._closing.clear()
                self._stop, stopped = socket.socketpair()
                self._thread = threading.Thread(target=self._run, args=(stopped,), name="sojourn-bell", daemon=True)
                self._thread.start()

    def _run(self, stopped: socket.socket) -> None:
        pause = _FIRST
        with stopped:
            while not self._closing.is_set():
                try:
                    with connect(self._address) as connection:
                        connection.execute(f"LISTEN {CHANNEL}".encode())
                        self.is_listening, pause = True, _FIRST
                        self._heard(None)
                        self._until_lost(connection, stopped)
                except psycopg.Error:
                    pass  # watchers look by themselves now and then, until the line is back
                finally:
                    self.is_listening = False
                self._closing.wait(pause)
                pause = min(pause * 2, _LONGEST)

    def _until_lost(self, connection: Connection, stopped: socket.socket) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(connection.fileno(), selectors.EVENT_READ)
            waiting.register(stopped, selectors.EVENT_READ)
            while not self._closing.is_set():
                waiting.select()
                for note in connection.notifies(timeout=0):
                    self._heard(note.payload.split("\n") if note.payload else None)

    def close(self) -> None:
        with self._lock:
            thread, stop, self._thread, self._stop = self._thread, self._stop, None, None
        if thread is not None and stop is not None:
            self._closing.set()
            stop.close()
            thread.join(timeout=15)
