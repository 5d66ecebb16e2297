"""A small world for the gateway: a store, a scripted runtime, a fake network."""

from collections.abc import AsyncIterator

import pytest

from sojourn.stores.memory.store import MemoryStore
from sojourn.testing.kit import settings_with


@pytest.fixture
async def store() -> AsyncIterator[MemoryStore]:
    made = MemoryStore()
    yield made
    await made.close()


@pytest.fixture
def settings(home):
    return settings_with(home)
