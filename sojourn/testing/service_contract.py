"""The contract every Service keeps, in this process or through a wire.

    class TestMine(ServiceContract):
        @pytest.fixture
        def runtime(self): return ScriptedRuntime()              # what thinks behind the service, as `scripted`

        @pytest.fixture
        def other(self): return ScriptedRuntime("other")         # and a second one

        @pytest.fixture
        async def service(self, runtime, other): ...             # an empty service that has both, closed afterwards

        @pytest.fixture
        async def again(self, service): ...                      # another one on the same store, as another process is

        @pytest.fixture
        async def store(self, service): ...                      # the store behind it, as a gateway's process opens it

        @pytest.fixture
        def home(self): ...                                      # the folder of its skills and templates

`scripted` is the default runtime, and `agent.titles` is on. Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

from sojourn.testing.service_approvals import ServiceApprovalsContract
from sojourn.testing.service_controls import ServiceControlsContract
from sojourn.testing.service_driver import ServiceDriverContract
from sojourn.testing.service_handoffs import ServiceHandoffsContract
from sojourn.testing.service_libraries import ServiceLibrariesContract
from sojourn.testing.service_sessions import ServiceSessionsContract
from sojourn.testing.service_turns import ServiceTurnsContract
from sojourn.testing.service_watch import ServiceWatchContract


class ServiceContract(
    ServiceTurnsContract,
    ServiceWatchContract,
    ServiceControlsContract,
    ServiceApprovalsContract,
    ServiceDriverContract,
    ServiceSessionsContract,
    ServiceHandoffsContract,
    ServiceLibrariesContract,
):
    """All of it. The parts can be used one by one while a service is being written."""
