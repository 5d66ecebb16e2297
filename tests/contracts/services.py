"""A service in this process over any store, with two scripted runtimes."""

import pytest

from sojourn.context.facts import FactRecords
from sojourn.context.skills import SkillFolders
from sojourn.service.local import LocalService
from sojourn.templates.template_list import TemplateList
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import ScriptedRuntime

LIBRARIES = {"make_facts": FactRecords, "make_skills": SkillFolders, "make_templates": TemplateList}


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
            app = FakeApp(store=closing(store), settings=make_settings(home), runtimes=[runtime, other], **LIBRARIES)
            return closing(LocalService(app))

        return serve
