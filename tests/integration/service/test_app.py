"""The application has a service, and one broken plugin does not silence the others."""

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.errors import SojournError
from sojourn.plugins import Registry, ThirdParty
from sojourn.ports.plugin import Plugin
from sojourn.testing.service_steps import ended, join_chunks, opened, talk

plugin = Plugin(
    name="broken", summary="For tests.", tools=("sojourn.no_such_module:make",), context=("sojourn.nor_this:make",)
)


@pytest.fixture
async def app(home):
    ours = [one for one in BUILT_INS if one.name in ("sqlite", "echo")]
    made = App(
        config.load({"home": str(home)}),
        Registry(ours, lambda: [ThirdParty("broken", "tests.integration.service.test_app")]),
    )
    yield made
    await made.close()


async def test_a_turn_of_the_real_kit_runs_beside_a_broken_plugin(app):
    service = app.service
    kept = await talk(service, await opened(service), "hello there", runtime="echo")
    assert (ended(kept), join_chunks(kept)) == (("completed", []), "hello there ")
    assert isinstance(app.plugin_problems()["broken"], SojournError)


async def test_there_is_one_service_and_it_closes_with_the_kit(app):
    assert app.service is app.service
    session = await opened(app.service)
    await app.close()
    await app.close()
    assert session
