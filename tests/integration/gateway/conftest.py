"""A small world for the gateway: a store, a scripted runtime, a fake network."""

import pytest

from sojourn.testing.app import make_settings


@pytest.fixture
def settings(home):
    return make_settings(home)
