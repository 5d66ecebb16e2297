"""The same service through HTTP and server-sent events keeps the same contract: that is what keeps the wire honest."""

from contextlib import ExitStack

import pytest

from sojourn.context.plugin import memory, skills
from sojourn.gateway.plugin import plugin as gateway
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.templates.plugin import plugin as templates
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import ScriptedRuntime
from sojourn.testing.service_contract import ServiceContract
from tests.contracts.http_service import Served
from tests.contracts.services import LIBRARIES


# The web framework hides this warning of its own while it prepares a route; two threads undo that for each other.
@pytest.mark.filterwarnings("ignore::pydantic.warnings.UnsupportedFieldAttributeWarning")
class TestOverHttp(ServiceContract):
    @pytest.fixture
    def runtime(self):
        return ScriptedRuntime()

    @pytest.fixture
    def other(self):
        return ScriptedRuntime("other")

    @pytest.fixture
    async def connected(self, home, runtime, other):
        """Makes clients, each of a server of its own on the same store."""

        def make_kit():
            return FakeApp(
                store=SqliteStore(home / "state.db"),
                settings=make_settings(home, gateway_embedded=False),
                runtimes=[runtime, other],
                make_service=LocalService,
                plugin_list=[memory, skills, templates, gateway],
                **LIBRARIES,
            )

        made = []
        with ExitStack() as servers:

            def connect():
                made.append(servers.enter_context(Served(make_kit)).client())
                return made[-1]

            home.mkdir(mode=0o700)
            yield connect
            for one in made:
                await one.close()

    @pytest.fixture
    def service(self, connected):
        return connected()

    @pytest.fixture
    def again(self, service, connected):
        return connected()

    @pytest.fixture
    async def store(self, service, home):
        made = SqliteStore(home / "state.db")
        yield made
        await made.close()
