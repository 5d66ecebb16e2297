"""A small world for the gateway: a store, a scripted runtime, a fake network."""

import pytest

from sojourn.testing.kit import settings_with


@pytest.fixture
def settings(home):
    return settings_with(home)
