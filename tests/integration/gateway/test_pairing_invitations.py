"""The owner gets a code at the terminal or in the dashboard, and sends it to the bot."""

import pytest

from sojourn.core.places import Sender
from sojourn.core.sessions import OWNER
from sojourn.gateway.pairing import Identities
from sojourn.gateway.pairing_invitations import INVITATION_TTL_SECONDS, KIND, PairingInvitations
from sojourn.ports.platform import PlatformInfo
from tests.integration.gateway.test_pairing import Clock
from tests.integration.gateway.worlds import world

INFO = PlatformInfo(name="fake", label="Fake")
ANN, EVE = Sender(id="42", name="Ann"), Sender(id="666", name="Eve")


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def people(store, settings):
    return Identities(store, settings)


@pytest.fixture
def invitations(store, clock):
    return PairingInvitations(store, clock=clock)


@pytest.mark.parametrize("form", ["{}", "/start {}", "!start {}", " {} \n", "lower", "dash"])
async def test_who_sends_the_code_is_the_owner_once(invitations, people, form):
    code = (await invitations.create("fake")).code
    text = {"lower": code.lower(), "dash": f"{code[:4]}-{code[4:]}"}.get(form, form.format(code))
    assert await invitations.accept("fake", ANN, text, people)
    assert (await people.identify(INFO, ANN)).principal == OWNER
    assert not await invitations.accept("fake", EVE, text, people)
    assert await people.identify(INFO, EVE) is None
    assert await invitations.wait_until_used("fake")


async def test_a_code_is_of_one_network_and_kept_hashed(invitations, people, store):
    code = (await invitations.create("fake")).code
    assert not await invitations.accept("other", EVE, code, people)
    assert code not in str((await store.get_record(KIND, "fake")).value)


async def test_a_new_code_replaces_the_last(invitations, people):
    old = (await invitations.create("fake")).code
    new = (await invitations.create("fake")).code
    assert not await invitations.accept("fake", EVE, old, people)
    assert await invitations.accept("fake", ANN, new, people)


@pytest.mark.parametrize("seconds", [INVITATION_TTL_SECONDS, -1.0])  # a clock that went back does not lengthen it
async def test_a_code_expires(invitations, people, clock, seconds):
    code = (await invitations.create("fake")).code
    clock.now += seconds
    assert not await invitations.accept("fake", ANN, code, people)
    assert not await invitations.wait_until_used("fake")


async def test_five_wrong_codes_end_it_and_other_words_do_not(invitations, people):
    code = (await invitations.create("fake")).code
    for _ in range(20):
        await invitations.accept("fake", EVE, "hello there", people)
        await invitations.accept("fake", EVE, f"please take {code}", people)
    for _ in range(5):
        assert not await invitations.accept("fake", EVE, "AAAAAAAA", people)
    assert not await invitations.accept("fake", ANN, code, people)
    assert not await invitations.wait_until_used("fake")


async def test_it_pairs_in_a_private_chat_alone_and_makes_it_the_home(home, store):
    async with world(home, store, gateway_owners="", gateway_home="") as at:
        await at.start()
        code = (await PairingInvitations(store).create("fake")).code
        at.network.say("#room", code, ANN)
        await at.quiet()
        assert await at.store.get_record(KIND, "fake") is not None
        at.network.say("42", code, ANN)
        [told] = await at.texts("42", 1)
        assert told.startswith("You are paired")
        assert at.network.texts("#room") == []
        session = await at.session("plant a tree")
        assert (await at.hand_over(session)).state == "completed"
