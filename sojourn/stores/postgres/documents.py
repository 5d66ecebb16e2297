"""Documents in the database: results of scans that several servers share, and the lock for scanning.

Implements the document store of `sojourn.achievements` without importing it, so errors are OSErrors.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg

from sojourn.stores.postgres.connect import Connection, LazyConnection, PostgresAddress, connect
from sojourn.stores.postgres.errors import translate

T = TypeVar("T")
_READ = "SELECT data FROM documents WHERE shelf = %s AND name = %s AND is_copy = %s ORDER BY part"
_DELETE = "DELETE FROM documents WHERE shelf = %s AND name = %s"
_INSERT = "INSERT INTO documents(shelf, name, is_copy, data) VALUES (%s, %s, %s, %s)"
_LAST_PART = "SELECT max(part) AS part FROM documents WHERE shelf = %s AND name = %s AND is_copy = 0"


class PostgresDocuments:
    """Named documents in a table. Opens its own connection on first use; pickles as its address."""

    def __init__(self, url: str, name: str) -> None:
        self._url, self._namespace = url, name
        self._connection = LazyConnection(self._connect)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[PostgresDocuments], tuple[str, str]]:
        return PostgresDocuments, (self._url, self._namespace)

    def _connect(self) -> Connection:
        return connect(PostgresAddress(self._url))

    def read(self, name: str, is_good: Callable[[bytes], bool]) -> bytes | None:
        data = self._run(lambda connection: self._read_parts(connection, name, is_copy=0))
        if data is None or is_good(data):
            return data
        copy = self._run(lambda connection: self._read_parts(connection, name, is_copy=1))
        return copy if copy is not None and is_good(copy) else None

    def _read_parts(self, connection: Connection, name: str, *, is_copy: int) -> bytes | None:
        parts = connection.execute(_READ, (self._namespace, name, is_copy)).fetchall()
        return b"".join(bytes(row["data"]) for row in parts) if parts else None

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        def replace(connection: Connection) -> None:
            if not durable:
                connection.execute("SET LOCAL synchronous_commit = off")
            # serialises the writers of one document until the transaction ends
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (self._lock_key(f"write {name}"),))
            connection.execute(_DELETE + ("" if durable else " AND is_copy = 0"), (self._namespace, name))
            for is_copy in (0, 1) if durable else (0,):
                connection.execute(_INSERT, (self._namespace, name, is_copy, data))

        self._run(replace)

    def append(self, name: str, data: bytes) -> None:
        self._run(lambda connection: connection.execute(_INSERT, (self._namespace, name, 0, data)))

    def remove(self, name: str) -> None:
        self._run(lambda connection: connection.execute(_DELETE, (self._namespace, name)))

    def version(self, name: str) -> object:
        row = self._run(lambda connection: connection.execute(_LAST_PART, (self._namespace, name)).fetchone())
        return row["part"] if row else None

    def try_lock(self) -> PostgresScanLock | None:
        """Takes the scan lock, or returns None. A connection holds it, so it is released when the process dies."""
        try:
            connection = self._connect()
            try:
                row = connection.execute(
                    "SELECT pg_try_advisory_lock(%s) AS held", (self._lock_key("scan"),)
                ).fetchone()
            except psycopg.Error:
                connection.close()
                raise
        except psycopg.Error as error:
            raise self._to_os_error(error) from error
        if row and row["held"]:
            return PostgresScanLock(connection)
        connection.close()
        return None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _lock_key(self, purpose: str) -> int:
        digest = hashlib.sha256(f"sojourn shelf {self._namespace} {purpose}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    def _run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` in one transaction."""

        def run(connection: Connection) -> T:
            with connection.transaction():
                return work(connection)

        with self._lock:
            try:
                return self._connection.run(run)
            except psycopg.Error as error:
                raise self._to_os_error(error) from error

    def _to_os_error(self, error: psycopg.Error) -> OSError:
        return OSError(str(translate(error, str(PostgresAddress(self._url)))))


class PostgresScanLock:
    """The scan lock, held until `release`."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def release(self) -> None:
        self._connection.close()
