"""A PostgreSQL connection in the shape the shared statements want.

Each answer costs a trip to the server, so what nobody waits for (BEGIN, inserts, COMMIT, the
ring) is put in line and travels with the next statement whose answer is needed. An append makes
two trips, however many rows it has.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any, Literal

import psycopg
from psycopg import Cursor
from psycopg.rows import DictRow

from sojourn.core.redact import Redactor
from sojourn.core.sessions import Recorded
from sojourn.core.text import escape
from sojourn.stores.postgres import feed, index
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.sql.db import Row, insertion
from sojourn.stores.sql.rows import message_from_row

READ = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"  # all statements of a reader see one moment
WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
CHANNEL = "sojourn"
_FEW = 16  # more rows than this are copied in bulk
_LINE = 256  # statements that may wait in line
_RING = 7000  # bytes of session ids in one ring; PostgreSQL takes 8000


class Clock:
    """The database's clock, because machines' clocks differ. Asked at most once a second."""

    def __init__(self) -> None:
        self._told = 0.0, float("-inf")  # what it said, and when by our own

    def read(self, db: PostgresDb) -> float:
        said, when = self._told
        if time.monotonic() - when > 1.0:
            row = db.one("SELECT extract(epoch FROM clock_timestamp())::float8 AS now")
            assert row is not None
            self._told = said, when = row["now"], time.monotonic()
        return said + time.monotonic() - when


class PostgresDb:
    """One connection inside one transaction, which begins with the first statement."""

    dialect: Literal["sqlite", "postgres"] = "postgres"
    for_update = " FOR UPDATE"

    def __init__(
        self,
        connection: Connection,
        redact: Redactor,
        begin: str,
        clock: Clock,
        *,
        base: int = 0,
        prepare: bool | None = None,
    ) -> None:
        self._connection, self.redact = connection, redact
        self._clock, self._base, self._prepare = clock, base, prepare
        self._line: list[tuple[str, Sequence[Any]]] = [(begin, ())]
        self._begun = False
        self._changes = 0
        self.touched: set[str] = set()
        self.kept: dict[str, list[Recorded]] = {}  # nobody asks: the bell tells us as it tells everybody
        self.is_committing = False  # from here on a lost line leaves open whether the work was kept

    # statements
    def all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return list(self._ask(sql, params).fetchall())

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        return self._ask(sql, params).fetchone()

    def run(self, sql: str, params: Sequence[Any] = ()) -> int:
        return max(0, self._ask(sql, params).rowcount)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            self._later(sql, row)

    def put_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        findable = ((*row, index.literal(message_from_row(dict(zip(columns, row, strict=True))))) for row in rows)
        first, all_columns = list(islice(findable, _FEW + 1)), (*columns, "terms")
        if len(first) <= _FEW:
            self.many(insertion("messages", all_columns), first)
        else:
            self.copy("messages", all_columns, chain(first, findable))

    def copy(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows in bulk."""
        self._send()
        statement = f"COPY {table}({', '.join(columns)}) FROM STDIN".encode()
        with self._connection.cursor() as cursor, cursor.copy(statement) as out:
            for row in rows:
                out.write_row(row)

    def now(self) -> float:
        return self._clock.read(self)

    def changed(self, session: str, kind: str) -> None:
        self.touched.add(session)
        self._later(feed.CHANGED, (session, kind, self._base + min(self._changes, feed.ROOM - 1)))
        self._changes += 1

    # the line
    def _later(self, sql: str, params: Sequence[Any]) -> None:
        self._line.append((sql, params))
        if len(self._line) >= _LINE:
            self._send()

    def _send(self) -> None:
        """Sends what waits in line, and waits until the server has done it."""
        if self._line:
            with self._connection.pipeline():
                self._send_line()

    def _send_line(self) -> None:
        waiting, self._line = self._line, []
        self._begun = True
        with self._connection.cursor() as cursor:
            for sql, params in waiting:
                _execute(cursor, sql, params)

    def _ask(self, sql: str, params: Sequence[Any]) -> Cursor[DictRow]:
        cursor = self._connection.cursor()
        if not self._line:
            return _execute(cursor, sql, params, self._prepare)
        with self._connection.pipeline():
            self._send_line()
            return _execute(cursor, sql, params, self._prepare)

    # the end of the transaction
    def commit(self) -> None:
        """What was done is kept when this returns, and others are told. Nothing done, nothing said."""
        if not self._begun and len(self._line) == 1:
            return
        self.is_committing = True
        done = self._connection.cursor()
        try:
            with self._connection.pipeline():
                self._send_line()
                done.execute("COMMIT")
                if self.touched:  # after the commit: a ring inside would make all writers wait for one another
                    self._connection.execute(f"SELECT pg_notify('{CHANNEL}', %s)".encode(), (self._ring(),))
        except psycopg.Error:
            if done.statusmessage != "COMMIT":
                raise

    def _ring(self) -> str:
        """The touched sessions, or nothing when they are too many to name."""
        names = "\n".join(sorted(self.touched))
        return names if len(names.encode()) < _RING else ""


def _execute(cursor: Cursor[DictRow], sql: str, params: Sequence[Any], prepare: bool | None = None) -> Cursor[DictRow]:
    try:
        return cursor.execute(_dialect(sql), params, prepare=prepare)
    except (UnicodeEncodeError, psycopg.DataError) as error:
        if getattr(error, "sqlstate", None):
            raise
        # Not sent: a word somebody looks for holds a NUL or half a character. Kept texts are escaped, so it is too.
        kept = [escape(value) if isinstance(value, str) else value for value in params]
        return cursor.execute(_dialect(sql), kept, prepare=prepare)


@lru_cache(maxsize=1024)
def _dialect(sql: str) -> bytes:
    """A statement as psycopg wants it."""
    return sql.replace("?", "%s").encode()
