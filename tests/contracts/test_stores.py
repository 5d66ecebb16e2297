"""SQLite keeps the contract; PostgreSQL has a file of its own, so that two test processes share the work."""

import itertools

import pytest

from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_contract import StoreContract
from sojourn.text.redaction import redact


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
