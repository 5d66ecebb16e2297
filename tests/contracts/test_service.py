"""The service in this process keeps the contract, on every store."""

import pytest

from sojourn.stores.memory import MemoryStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.service_contract import ServiceContract
from tests.contracts.services import Local


class TestMemory(Local, ServiceContract):
    @pytest.fixture
    def store(self):
        return MemoryStore()

    @pytest.fixture
    def service(self, served, store):
        return served(store)

    @pytest.fixture
    def again(self, served, service, store):
        return served(store)


class TestSqlite(Local, ServiceContract):
    @pytest.fixture
    def service(self, served, home):
        return served(SqliteStore(home / "state.db"))

    @pytest.fixture
    def again(self, served, service, home):
        return served(SqliteStore(home / "state.db"))

    @pytest.fixture
    def store(self, closing, service, home):
        return closing(SqliteStore(home / "state.db"))
