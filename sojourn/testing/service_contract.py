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

`scripted` is the default runtime, and `agent.titles` is on. Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

from sojourn.testing.service_sessions import SessionsContract
from sojourn.testing.service_turns import TurnsContract
from sojourn.testing.service_watching import WatchingContract
from sojourn.testing.service_wheel import WheelContract
from sojourn.testing.service_words import WordsContract


class ServiceContract(TurnsContract, WatchingContract, WordsContract, WheelContract, SessionsContract):
    """All of it. The parts can be used one by one while a service is being written."""
