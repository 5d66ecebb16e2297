"""A service over a SQLite store, with whatever a test puts into it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from sojourn.service.local import LocalService
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import ScriptedRuntime


@pytest.fixture
def runtime() -> ScriptedRuntime:
    return ScriptedRuntime()


@pytest.fixture
async def serve(home, store, runtime) -> AsyncIterator[Callable[..., LocalService]]:
    """serve(context=…, tools=…, runtimes=…, agent_titles=…): a service, closed after the test."""
    async with AsyncExitStack() as stack:

        def make(context: Any = (), tools: Any = (), runtimes: Any = None, **settings: Any) -> LocalService:
            kit = FakeApp(
                store=store,
                settings=make_settings(home, **settings),
                runtimes=runtimes or [runtime],
                context_sources=context,
                tool_list=tools,
            )
            service = LocalService(kit)
            stack.push_async_callback(service.close)
            return service

        yield make


@pytest.fixture
def service(serve) -> LocalService:
    return serve()
