"""The line to the server: transactions, run again where that is safe."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from sojourn.core.errors import StoreUnavailable
from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.connect import Connection, configure, connect
from sojourn.stores.postgres.db import Clock, PostgresDb
from sojourn.stores.postgres.errors import TRANSIENT, is_passing, translate
from sojourn.stores.postgres.migrate import Migration, Opened, ensure
from sojourn.text.redaction import Redactor

T = TypeVar("T")
Pool = ConnectionPool[Connection]

PATIENCE = 5.0  # seconds a server that was there before may be away (a restart) before anybody is told
_WAIT = 10.0  # seconds until a connection is free
_TRIES = 5
CONNECTIONS = 8  # of one process


class _Lost(psycopg.OperationalError):
    """The line broke in the middle of a transaction; nothing of it was kept."""


class _NotReached(psycopg.OperationalError):
    """Nobody answered, or nobody who would let us in."""


class Line:
    """Opens on first use. After the server was away it finds back by itself; nothing is rebuilt by hand."""

    def __init__(
        self, address: Address, redact: Redactor, migrations: list[Migration], told: Callable[[set[str]], None]
    ) -> None:
        self._address, self._redact, self._migrations, self._told = address, redact, migrations, told
        self._clock = Clock()
        self._opening = threading.Lock()
        self._pool: Pool | None = None
        self.opened: Opened | None = None  # what was found when the server was last reached

    def run(
        self, work: Callable[[PostgresDb], T], begin: str, *, prepare: bool | None = None, patience: float = PATIENCE
    ) -> T:
        """Runs `work` in one transaction. It runs again if nothing of it was kept and a second try may do."""
        tries, give_up, pause = 1, time.monotonic() + patience, 0.02
        while True:
            try:
                return self._once(work, begin, prepare)
            except (psycopg.Error, UnicodeEncodeError) as error:
                if not self._may_repeat(error, tries, give_up):
                    raise translate(error, str(self._address)) from error
            time.sleep(pause * random.uniform(0.5, 1.0))
            tries, pause = tries + 1, min(pause * 2, 0.5)

    def _may_repeat(self, error: Exception, tries: int, give_up: float) -> bool:
        if getattr(error, "sqlstate", None) in TRANSIENT:
            return tries < _TRIES
        if isinstance(error, _Lost) and tries == 1:
            return True  # an old connection that died meanwhile says nothing about the server
        was_reached = self.opened is not None and isinstance(error, (_Lost, _NotReached, PoolClosed))
        return (was_reached or is_passing(error)) and time.monotonic() < give_up

    def _once(self, work: Callable[[PostgresDb], T], begin: str, prepare: bool | None) -> T:
        pool, opened = self.open()
        connection = self._take(pool)
        db = PostgresDb(connection, self._redact, begin, self._clock, base=opened.base, prepare=prepare)
        try:
            result = work(db)
            db.commit()
        except psycopg.Error as error:
            self._undo(connection, pool)
            if not connection.closed:
                raise
            if not db.is_committing:
                raise _Lost(str(error)) from error
            raise StoreUnavailable(
                f"The line to {self._address} broke while the last step was being kept; it may be there or not.",
                hint="Read the session again before you repeat it.",
            ) from error
        except BaseException:
            self._undo(connection, pool)
            raise
        finally:
            pool.putconn(connection)
        if db.touched:
            self._told(db.touched)
        return result

    def _take(self, pool: Pool) -> Connection:
        try:
            return pool.getconn(timeout=_WAIT)
        except PoolTimeout:
            self._dial().close()  # if the server cannot be reached, that is the reason
            raise

    def _undo(self, connection: Connection, pool: Pool) -> None:
        try:
            connection.rollback()
        except psycopg.Error:
            connection.close()
        if connection.closed:
            self._drop(pool)

    def open(self) -> tuple[Pool, Opened]:
        """Dials directly first: a failure then has its real reason, and the schema is looked at again."""
        with self._opening:
            if self._pool is None:
                connection = self._dial()
                try:
                    self.opened = ensure(connection, self._address, self._migrations)
                finally:
                    connection.close()
                self._pool = ConnectionPool(
                    self._address.dial,
                    kwargs={"autocommit": True, "row_factory": dict_row},
                    configure=configure,
                    min_size=1,
                    max_size=CONNECTIONS,
                    num_workers=1,
                    reconnect_timeout=PATIENCE,
                    open=True,
                    name="sojourn",
                )
            assert self.opened is not None
            return self._pool, self.opened

    def _dial(self) -> Connection:
        try:
            return connect(self._address)
        except psycopg.OperationalError as error:
            raise _NotReached(*error.args) from error

    def reach(self) -> Opened:
        """`open`, with errors in our words."""
        try:
            return self.open()[1]
        except psycopg.Error as error:
            raise translate(error, str(self._address)) from error

    def _drop(self, pool: Pool | None) -> None:
        """One connection broke: the others may be as dead, so all are replaced."""
        with self._opening:
            if pool is None or pool is not self._pool:
                return
            self._pool = None
        pool.close(timeout=2.0)

    def close(self) -> None:
        self._drop(self._pool)

    def alone(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` on a connection of its own, outside any transaction."""
        try:
            self.open()
            with connect(self._address) as connection:
                return work(connection)
        except psycopg.Error as error:
            raise translate(error, str(self._address)) from error
