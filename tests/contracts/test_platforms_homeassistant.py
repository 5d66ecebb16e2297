"""homeassistant, on a server that speaks its wire."""

from collections.abc import AsyncIterator

import pytest

from sojourn.core.errors import BadInput
from sojourn.platforms.homeassistant.adapter import HomeAssistant
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.homeassistant import HouseHarness


@pytest.fixture
async def harness() -> AsyncIterator[HouseHarness]:
    async with HouseHarness() as harness:
        yield harness


@pytest.fixture
async def adapter(harness: HouseHarness) -> AsyncIterator[HomeAssistant]:
    made = harness.connect(entities=("binary_sensor.door", "light.hall"))
    yield made
    await made.close()


class TestHomeAssistant(PlatformContract):
    pass


def change(entity: str, old: str, new: str, **attributes: str) -> dict[str, object]:
    about = {"entity_id": entity, "attributes": attributes}
    return {"entity_id": entity, "old_state": {**about, "state": old}, "new_state": {**about, "state": new}}


async def test_named_entities_speak_when_they_change(harness: HouseHarness, adapter: HomeAssistant):
    async with listening(harness, adapter) as ear:
        await harness.house.fire("state_changed", change("sensor.power", "1", "2"))
        await harness.house.fire("state_changed", change("light.hall", "on", "on", brightness="7"))
        await harness.house.fire("state_changed", change("binary_sensor.door", "off", "on", friendly_name="Front door"))
        heard = await ear.hear()
    assert (heard.text, heard.sender.id) == ("Front door: off → on", "binary_sensor.door")
    assert heard.place == adapter.home("persistent_notification")


async def test_an_event_without_text_is_told_as_it_is(harness: HouseHarness, adapter: HomeAssistant):
    async with listening(harness, adapter) as ear:
        await harness.house.fire("sojourn_message", {"temperature": 21})
        assert (await ear.hear()).text == '{"temperature": 21}'


async def test_an_event_that_names_no_service_is_answered_at_the_usual_one(
    harness: HouseHarness, adapter: HomeAssistant
):
    async with listening(harness, adapter) as ear:
        await harness.house.fire("sojourn_message", {"text": "hello", "chat": "../x"})
        assert (await ear.hear()).place.chat == "persistent_notification"


def test_a_wrong_service_in_the_settings_is_said(harness: HouseHarness):
    with pytest.raises(BadInput):
        harness.connect(notify="my phone")


@pytest.mark.parametrize(("words", "chat"), [("notify.mobile_app_phone", "mobile_app_phone"), ("tv", "tv")])
def test_a_notify_service_may_be_named_either_way(adapter: HomeAssistant, words: str, chat: str):
    assert adapter.home(words).chat == chat


@pytest.mark.parametrize("words", ["my phone", "../config", "notify."])
def test_what_is_no_service_is_refused(adapter: HomeAssistant, words: str):
    with pytest.raises(BadInput):
        adapter.home(words)
