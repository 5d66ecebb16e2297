"""A service in this process over any store, with two scripted runtimes."""

import pytest

from sojourn.service.local import LocalService
from sojourn.testing.kit import SmallKit, settings_with
from sojourn.testing.scripted import ScriptedRuntime


class Local:
    @pytest.fixture
    def runtime(self):
        return ScriptedRuntime()

    @pytest.fixture
    def other(self):
        return ScriptedRuntime("other")

    @pytest.fixture
    def served(self, home, closing, runtime, other):
        """Makes a service of a store; both are closed after the test."""

        def serve(store):
            settings = settings_with(home)
            return closing(LocalService(SmallKit(store=closing(store), settings=settings, runtimes=[runtime, other])))

        return serve
