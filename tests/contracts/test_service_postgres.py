"""The service over PostgreSQL: what depends on two processes meeting in the store."""

import pytest

from sojourn.stores.postgres.store import PostgresStore
from sojourn.testing.service_controls import ServiceControlsContract
from sojourn.testing.service_driver import ServiceDriverContract
from sojourn.testing.service_watch import ServiceWatchContract
from tests.contracts.services import Local

pytestmark = pytest.mark.postgres


class TestPostgres(Local, ServiceControlsContract, ServiceDriverContract, ServiceWatchContract):
    @pytest.fixture
    def url(self, databases):
        return databases()

    @pytest.fixture
    def service(self, served, url):
        return served(PostgresStore(url))

    @pytest.fixture
    def again(self, served, service, url):
        return served(PostgresStore(url))
