"""Runs transactions on a connection pool, and retries them where that is safe."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from sojourn.core.errors import SojournError, StoreNewer, StoreUnavailable
from sojourn.stores.postgres.connect import Connection, PostgresAddress, configure, connect
from sojourn.stores.postgres.db import QUERY, READ, PostgresDb, ServerClock
from sojourn.stores.postgres.errors import RETRYABLE, is_restarting, translate
from sojourn.stores.postgres.maintenance import redact_kept
from sojourn.stores.postgres.migrate import StoreState, ensure_schema
from sojourn.stores.sql.migrations import Migration
from sojourn.text.redaction import Redactor, redact

T = TypeVar("T")
Pool = ConnectionPool[Connection]

RETRY_SECONDS = 5.0  # how long a server that was reached before may be away (a restart) before an error is raised
_POOL_TIMEOUT_SECONDS = 10.0
_MAX_TRIES = 5
_FIRST_PAUSE_SECONDS = 0.02
_MAX_PAUSE_SECONDS = 0.5
MAX_CONNECTIONS = 8  # of one process


class _ConnectionLost(psycopg.OperationalError):
    """The connection broke before the commit; the transaction was rolled back."""


class _Unreachable(psycopg.OperationalError):
    """The server did not answer, or refused the connection."""


class TransactionRunner:
    """Runs work in transactions. Connects on first use, and reconnects after the server was away."""

    def __init__(
        self,
        address: PostgresAddress,
        redact: Redactor,
        migrations: list[Migration],
        on_commit: Callable[[PostgresDb], None],
        must_notify: Callable[[], bool],
    ) -> None:
        self._address, self._redact, self._migrations, self._on_commit = address, redact, migrations, on_commit
        self._must_notify = must_notify
        self._clock = ServerClock()
        self._open_lock = threading.Lock()
        self._pool: Pool | None = None
        self.state: StoreState | None = None  # as of the last connection to the server

    def run(
        self,
        work: Callable[[PostgresDb], T],
        begin: str,
        *,
        prepare: bool | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> T:
        """Runs `work` in one transaction, and again if it was rolled back and another try may succeed.

        Args:
            begin: the BEGIN statement, READ or WRITE of `db.py`.
            prepare: whether statements are prepared; None leaves it to psycopg.
            retry_seconds: how long to retry while the server is away.
        """
        tries, give_up, pause = 1, time.monotonic() + retry_seconds, _FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._run_once(work, begin, prepare)
            except (psycopg.Error, UnicodeEncodeError) as error:
                if not self._is_retryable(error, tries, give_up):
                    raise translate(error, str(self._address)) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            tries, pause = tries + 1, min(pause * 2, _MAX_PAUSE_SECONDS)

    def _is_retryable(self, error: Exception, tries: int, give_up: float) -> bool:
        if getattr(error, "sqlstate", None) in RETRYABLE:
            return tries < _MAX_TRIES
        if isinstance(error, _ConnectionLost) and tries == 1:
            return True  # the connection died while idle: the server may be fine
        was_reached = self.state is not None and isinstance(error, (_ConnectionLost, _Unreachable, PoolClosed))
        return (was_reached or is_restarting(error)) and time.monotonic() < give_up

    def _run_once(self, work: Callable[[PostgresDb], T], begin: str, prepare: bool | None) -> T:
        pool, state = self.open()
        connection = self._get_connection(pool)
        newest = self._migrations[-1][0]
        db = PostgresDb(connection, self._redact, begin, self._clock, base=state.base, newest=newest, prepare=prepare)
        try:
            result = work(db)
            db.commit(notify=self._must_notify())
        except psycopg.errors.DivisionByZero as error:
            self._roll_back(connection, pool)
            raise StoreNewer(
                f"{self._address} was upgraded by a newer Sojourn (this one knows schema {newest}).",
                hint="Update Sojourn and start it again. Nothing was changed.",
            ) from error
        except psycopg.Error as error:
            self._roll_back(connection, pool)
            if not connection.closed:
                raise
            if not db.is_committing:
                raise _ConnectionLost(str(error)) from error
            raise StoreUnavailable(
                f"The connection to {self._address} broke during a commit; the change may be stored or not.",
                hint="Read the session again before you repeat the change.",
            ) from error
        except SojournError:
            self._end_refused(db, connection, pool, begin)
            raise
        except BaseException:
            self._roll_back(connection, pool)
            raise
        finally:
            pool.putconn(connection)
        if db.wake_names:
            self._on_commit(db)
        return result

    def _get_connection(self, pool: Pool) -> Connection:
        try:
            return pool.getconn(timeout=_POOL_TIMEOUT_SECONDS)
        except PoolTimeout:
            self._connect().close()  # raises the real reason if the server cannot be reached
            raise

    def _end_refused(self, db: PostgresDb, connection: Connection, pool: Pool, begin: str) -> None:
        """Ends a transaction whose work has raised. A rollback drops the prepared statements; a read needs none."""
        try:
            if begin in (READ, QUERY):
                return db.commit(notify=False)
        except psycopg.Error:
            pass
        self._roll_back(connection, pool)

    def _roll_back(self, connection: Connection, pool: Pool) -> None:
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._close_pool(pool)

    def open(self) -> tuple[Pool, StoreState]:
        """Opens the pool if it is closed. Connects directly first, for a precise error and to check the schema."""
        with self._open_lock:
            if self._pool is None:
                connection = self._connect()
                try:
                    self.state = ensure_schema(connection, self._address, self._migrations)
                    if self._redact is redact and not self.state.read_only:
                        redact_kept(connection, self._clock, self.state.base)
                finally:
                    connection.close()
                self._pool = ConnectionPool(
                    self._address.conninfo,
                    kwargs={"autocommit": True, "row_factory": dict_row},
                    configure=configure,
                    min_size=1,
                    max_size=MAX_CONNECTIONS,
                    num_workers=1,
                    reconnect_timeout=RETRY_SECONDS,
                    open=True,
                    name="sojourn",
                )
            assert self.state is not None
            return self._pool, self.state

    def _connect(self) -> Connection:
        try:
            return connect(self._address)
        except psycopg.OperationalError as error:
            raise _Unreachable(*error.args) from error

    def ensure_open(self) -> StoreState:
        """Opens the pool and returns the state of the store; raises our errors."""
        try:
            return self.open()[1]
        except psycopg.Error as error:
            raise translate(error, str(self._address)) from error

    def _close_pool(self, pool: Pool | None) -> None:
        """Closes the pool. After one broken connection the others may be dead too, so all are replaced."""
        with self._open_lock:
            if pool is None or pool is not self._pool:
                return
            self._pool = None
        pool.close(timeout=2.0)

    def close(self) -> None:
        self._close_pool(self._pool)

    def run_unpooled(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` on a connection of its own, outside any transaction."""
        try:
            self.open()
            with connect(self._address) as connection:
                return work(connection)
        except psycopg.Error as error:
            raise translate(error, str(self._address)) from error
