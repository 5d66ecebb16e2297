"""`Db` over a PostgreSQL connection, with pipelined statements.

Each result costs a round trip, so statements without a result (BEGIN, inserts, COMMIT, NOTIFY) are
queued and sent with the next statement whose result is needed. An append makes two round trips,
however many rows it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import psycopg
from psycopg import Cursor
from psycopg.rows import DictRow

from sojourn.core.sessions import Recorded
from sojourn.stores.postgres import feed, index
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.sql.db import Row, insert_statement
from sojourn.stores.sql.rows import message_from_row
from sojourn.text.escape import escape
from sojourn.text.redaction import Redactor

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"  # one snapshot for all statements
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
QUERY = ""  # one statement, which is a transaction by itself
CHANNEL = "sojourn"
MAX_SCHEMA = 9999  # number of a migration
# Divides by zero when a newer version has upgraded the store. It needs no answer, so it costs no round trip.
_CHECK_SCHEMA = "SELECT 1 / (max(number) <= ?)::int FROM schema_migrations"
_MAX_INSERT_ROWS = 16  # more rows than this use COPY
_MAX_QUEUED_STATEMENTS = 256  # statements
_MAX_PAYLOAD_BYTES = 7000  # of one NOTIFY; PostgreSQL takes 8000
_CLOCK_SECONDS = 1.0  # how long one reading of the server's clock is used


class ServerClock:
    """The time of the server, because the clocks of machines differ. Read at most once a second."""

    def __init__(self) -> None:
        self._reading = 0.0, float("-inf")  # server time, and our monotonic time when it was read

    def read(self, db: PostgresDb) -> float:
        server_time, read_at = self._reading
        if time.monotonic() - read_at > _CLOCK_SECONDS:
            row = db.fetch_one("SELECT extract(epoch FROM clock_timestamp())::float8 AS now")
            assert row is not None
            self._reading = server_time, read_at = row["now"], time.monotonic()
        return server_time + time.monotonic() - read_at


class PostgresDb:
    """One connection inside one transaction, which begins with the first statement."""

    for_update = " FOR UPDATE"
    collate = ' COLLATE "C"'

    def __init__(
        self,
        connection: Connection,
        redact: Redactor,
        begin: str,
        clock: ServerClock,
        *,
        base: int = 0,
        newest: int = MAX_SCHEMA,
        prepare: bool | None = None,
    ) -> None:
        self._connection, self.redact = connection, redact
        self._clock, self._base, self._prepare = clock, base, prepare
        self._queue: list[tuple[str, Sequence[Any]]] = [(begin, ())] if begin else []
        self._is_query = begin == QUERY
        if begin == WRITE:
            self._queue.append((_CHECK_SCHEMA, (newest,)))
        self._has_begun = False
        self._change_count = 0
        self.wake_names: set[str] = set()
        self.log_items: dict[str, list[Recorded]] = {}
        self.other_changes: set[str] = set()  # sessions that changed in other ways than by an append
        self.has_notified = False
        self.is_committing = False  # from here on a lost connection leaves the outcome unknown

    # statements
    def fetch_all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return list(self._run_now(sql, params).fetchall())

    def fetch_one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        return self._run_now(sql, params).fetchone()

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        return max(0, self._run_now(sql, params).rowcount)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self._enqueue(sql, row)

    def insert_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        rows_with_terms = (
            (*row, index.to_tsvector(message_from_row(dict(zip(columns, row, strict=True))))) for row in rows
        )
        first, all_columns = list(islice(rows_with_terms, _MAX_INSERT_ROWS + 1)), (*columns, "terms")
        if len(first) <= _MAX_INSERT_ROWS:
            self.execute_many(insert_statement("messages", all_columns), first)
        else:
            self.copy("messages", all_columns, chain(first, rows_with_terms))

    def remove_from_index(self, sessions: Sequence[str]) -> None:
        """Does nothing: the terms are a column of the deleted rows."""

    def after_import(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Sets the id sequence of a table behind the ids of imported rows."""
        if table in ("messages", "inbox", "outbox"):
            self.fetch_one(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
                f"GREATEST((SELECT max(id) FROM {table}), (SELECT last_value FROM {table}_id_seq)))"
            )

    def copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Inserts rows with COPY."""
        self._flush()
        statement = f"COPY {table}({', '.join(columns)}) FROM STDIN".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as out:
            for row in rows:
                out.write_row(row)

    def now(self) -> float:
        return self._clock.read(self)

    def record_change(self, session: str, kind: str) -> None:
        self.wake_names.add(session)
        if kind != "log":
            self.other_changes.add(session)
        self._enqueue(
            feed.RECORD_CHANGE,
            (session, kind, self._base + min(self._change_count, feed.MAX_CHANGES_PER_TRANSACTION - 1)),
        )
        self._change_count += 1

    # statement queue
    def _enqueue(self, sql: str, params: Sequence[Any]) -> None:
        self._queue.append((sql, params))
        if len(self._queue) >= _MAX_QUEUED_STATEMENTS:
            self._flush()

    def _flush(self) -> None:
        """Sends the queued statements and waits until the server has run them."""
        if self._queue:
            with self._connection.pipeline():
                self._send_queue()

    def _send_queue(self) -> None:
        statements, self._queue = self._queue, []
        self._has_begun = True
        with self._connection.cursor() as cursor:
            for sql, params in statements:
                _execute(cursor, sql, params)

    def _run_now(self, sql: str, params: Sequence[Any]) -> Cursor[DictRow]:
        cursor = self._connection.cursor()
        if not self._queue:
            return _execute(cursor, sql, params, self._prepare)
        with self._connection.pipeline():
            self._send_queue()
            return _execute(cursor, sql, params, self._prepare)

    # the end of the transaction
    def commit(self, *, notify: bool = True) -> None:
        """Commits, and then notifies other processes if it should. Without any statement it does nothing."""
        if self._is_query or (not self._has_begun and self._queue[-1][0] in (READ, WRITE, _CHECK_SCHEMA)):
            return
        self.is_committing = True
        commit = self._connection.cursor()
        try:
            with self._connection.pipeline():
                self._send_queue()
                commit.execute("COMMIT")
                self.has_notified = notify
                if notify and self.wake_names:  # after the commit: inside a transaction it serialises all writers
                    send_notification(self._connection, self.wake_names)
        except psycopg.Error:
            if commit.statusmessage != "COMMIT":
                raise


def send_notification(connection: Connection, names: Iterable[str]) -> None:
    """Notifies every process of names; of too many, that anything may have changed."""
    payload = "\n".join(sorted(names))
    if len(payload.encode()) >= _MAX_PAYLOAD_BYTES:
        payload = ""
    connection.execute(f"SELECT pg_notify('{CHANNEL}', %s)".encode(), (payload,))


def _execute(cursor: Cursor[DictRow], sql: str, params: Sequence[Any], prepare: bool | None = None) -> Cursor[DictRow]:
    try:
        return cursor.execute(_to_psycopg(sql), params, prepare=prepare)
    except (UnicodeEncodeError, psycopg.DataError) as error:
        if getattr(error, "sqlstate", None):
            raise
        # Not sent: a search word contains NUL or a lone surrogate. Stored texts are escaped, so escape it too.
        escaped = [escape(value) if isinstance(value, str) else value for value in params]
        return cursor.execute(_to_psycopg(sql), escaped, prepare=prepare)


@lru_cache(maxsize=1024)
def _to_psycopg(sql: str) -> bytes:
    """Converts the placeholders of a statement to those of psycopg."""
    return sql.replace("?", "%s").encode()
