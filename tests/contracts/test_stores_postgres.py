"""PostgreSQL keeps the contract, on a real server."""

import pytest

from sojourn.stores.postgres.store import PostgresStore
from sojourn.testing.store_contract import StoreContract
from sojourn.text.redaction import redact


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
