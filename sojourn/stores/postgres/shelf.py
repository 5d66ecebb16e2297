"""A shelf in the database: documents of scans that several servers share, and the right to scan.

What `sojourn.achievements.document_store.DocumentStore` asks for, without knowing it. Errors are OSErrors there.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.connect import Connection, connect
from sojourn.stores.postgres.errors import translate

T = TypeVar("T")
_READ = "SELECT data FROM documents WHERE shelf = %s AND name = %s AND is_copy = %s ORDER BY part"
_DROP = "DELETE FROM documents WHERE shelf = %s AND name = %s"
_ADD = "INSERT INTO documents(shelf, name, is_copy, data) VALUES (%s, %s, %s, %s)"
_NEWEST = "SELECT max(part) AS part FROM documents WHERE shelf = %s AND name = %s AND is_copy = 0"


class PostgresShelf:
    """Documents in a table. One connection of its own, opened when it is needed; only the address is pickled."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._name = url, name
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def __getstate__(self) -> tuple[str, str]:
        return self._url, self._name

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def read(self, name: str, is_good: Callable[[bytes], bool]) -> bytes | None:
        data = self._run(lambda connection: self._content(connection, name, is_copy=0))
        if data is None or is_good(data):
            return data
        copy = self._run(lambda connection: self._content(connection, name, is_copy=1))
        return copy if copy is not None and is_good(copy) else None

    def _content(self, connection: Connection, name: str, *, is_copy: int) -> bytes | None:
        parts = connection.execute(_READ, (self._name, name, is_copy)).fetchall()
        return b"".join(bytes(row["data"]) for row in parts) if parts else None

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        def work(connection: Connection) -> None:
            if not durable:
                connection.execute("SET LOCAL synchronous_commit = off")
            self._alone(connection, name)
            connection.execute(_DROP + ("" if durable else " AND is_copy = 0"), (self._name, name))
            for is_copy in (0, 1) if durable else (0,):
                connection.execute(_ADD, (self._name, name, is_copy, data))

        self._run(work)

    def append(self, name: str, data: bytes) -> None:
        self._run(lambda connection: connection.execute(_ADD, (self._name, name, 0, data)))

    def remove(self, name: str) -> None:
        self._run(lambda connection: connection.execute(_DROP, (self._name, name)))

    def version(self, name: str) -> object:
        row = self._run(lambda connection: connection.execute(_NEWEST, (self._name, name)).fetchone())
        return row["part"] if row else None

    def try_lock(self) -> _Held | None:
        """Held by a connection: if the process ends, however it ends, the server lets go."""
        try:
            connection = connect(Address(self._url))
            try:
                row = connection.execute("SELECT pg_try_advisory_lock(%s) AS held", (self._key("scan"),)).fetchone()
            except psycopg.Error:
                connection.close()
                raise
        except psycopg.Error as error:
            raise self._refused(error) from error
        if row and row["held"]:
            return _Held(connection)
        connection.close()
        return None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _alone(self, connection: Connection, name: str) -> None:
        """Two who write one document at once write one after the other."""
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (self._key(f"write {name}"),))

    def _key(self, words: str) -> int:
        digest = hashlib.sha256(f"sojourn shelf {self._name} {words}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _run(self, work: Callable[[Connection], T]) -> T:
        """In one transaction; once more if the line had broken since it was last used."""
        with self._lock:
            was_open = self._connection is not None
            try:
                return self._once(work)
            except psycopg.Error as error:
                lost = self._connection is not None and self._connection.closed
                if lost:
                    self._connection = None
                if not (was_open and lost):
                    raise self._refused(error) from error
            try:
                return self._once(work)
            except psycopg.Error as error:
                raise self._refused(error) from error

    def _once(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = connect(Address(self._url))
        with self._connection.transaction():
            return work(self._connection)

    def _refused(self, error: psycopg.Error) -> OSError:
        return OSError(str(translate(error, str(Address(self._url)))))


class _Held:
    """The right to scan."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def release(self) -> None:
        self._connection.close()
