"""The service in this process keeps the contract on SQLite; PostgreSQL has a file of its own."""

import pytest

from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.service_contract import ServiceContract
from tests.contracts.services import Local


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
