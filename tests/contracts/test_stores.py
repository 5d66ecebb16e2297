"""Every store keeps the contract."""

import itertools

import pytest

from sojourn.core.redact import redact
from sojourn.stores.memory import MemoryStore
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_contract import StoreContract


class TestMemory(StoreContract):
    @pytest.fixture
    def fresh(self, closing):
        return lambda redactor=redact: closing(MemoryStore(redactor=redactor))

    @pytest.fixture
    def store(self, fresh):
        return fresh()

    @pytest.fixture
    def again(self):
        return None


class TestSqlite(StoreContract):
    @pytest.fixture
    def fresh(self, home, closing):
        number = itertools.count(1)
        return lambda redactor=redact: closing(SqliteStore(home / f"{next(number)}" / "state.db", redactor=redactor))

    @pytest.fixture
    def store(self, fresh):
        return fresh()

    @pytest.fixture
    def again(self, store, closing):
        return closing(SqliteStore(store.path))


@pytest.mark.postgres
class TestPostgres(StoreContract):
    @pytest.fixture
    def fresh(self, databases, closing):
        return lambda redactor=redact: closing(PostgresStore(databases(), redactor=redactor))

    @pytest.fixture
    def store(self, fresh):
        return fresh()

    @pytest.fixture
    def again(self, store, closing):
        return closing(PostgresStore(store.url))
