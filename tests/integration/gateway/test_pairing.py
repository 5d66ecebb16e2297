"""Who may talk, and how strangers are let in."""

import hashlib
import json
import re

import pytest

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.core.places import Sender
from sojourn.core.sessions import OWNER
from sojourn.gateway.pairing import (
    ALPHABET,
    CODE_TTL_SECONDS,
    LOCKOUT_SECONDS,
    PAIRING,
    REISSUE_AFTER_SECONDS,
    Identities,
)
from sojourn.ports.platform import PlatformInfo
from sojourn.testing.app import make_settings

INFO = PlatformInfo(name="fake", label="Fake")
ANN, BEN = Sender(id="42", name="Ann"), Sender(id="4:3", name="Ben")


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def people(store, settings, clock):
    return Identities(store, settings, clock=clock)


GUEST = "guest:fake-4_3~" + hashlib.sha256(b"fake-4:3").hexdigest()[:16]


async def test_distinct_people_never_share_a_principal(store, home):
    names = ["4:3", "4_3", "4;3", "a b", "a_b", "A_b", "[x]", "_x_", "é", "e\u0301", "x~", "x~0"]
    listed = ", ".join(f"fake:{one}" for one in names if one.isascii() and " " not in one)
    people = Identities(store, make_settings(home, gateway_guests=listed, gateway_pairing=True))
    programs = PlatformInfo(name="fake", label="Fake", system=True)
    found = [(await people.identify(programs, Sender(id=one))).principal for one in names]
    assert len(set(found)) == len(names)


async def test_everybody_is_a_stranger_at_first(people):
    assert await people.identify(INFO, ANN) is None


async def test_lists_in_the_settings_say_who_is_who(store, home):
    people = Identities(store, make_settings(home, gateway_owners="fake:42, x:1", gateway_guests="fake:4:3"))
    assert (await people.identify(INFO, ANN)).principal == OWNER
    guest = await people.identify(INFO, BEN)
    assert (guest.is_owner, guest.principal) == (False, GUEST)
    assert await people.identify(PlatformInfo(name="x", label="X"), ANN) is None


async def test_a_guest_who_is_taken_off_the_list_is_a_stranger_at_once(store, home):
    settings = make_settings(home, gateway_guests="fake:4:3")
    people = Identities(store, settings)
    assert await people.identify(INFO, BEN)
    settings.values["gateway.guests"] = ""
    assert await people.identify(INFO, BEN) is None


async def test_a_code_has_eight_clear_characters_and_is_kept_hashed(people, store):
    code = await people.issue_code("fake", ANN)
    assert re.fullmatch(f"[{ALPHABET}]{{8}}", code)
    assert not set("0O1I") & set(ALPHABET)
    [kept] = await store.list_records(PAIRING)
    assert code not in json.dumps(kept.value)


@pytest.mark.parametrize(("as_owner", "principal"), [(True, OWNER), (False, GUEST)])
async def test_pairing_lets_a_person_in(people, as_owner, principal):
    code = await people.issue_code("fake", BEN)
    request, given = await people.pair(f"{code[:4].lower()}-{code[4:]}", as_owner=as_owner)
    assert (request.platform, request.sender, given) == ("fake", "4:3", principal)
    assert (await people.identify(INFO, BEN)).principal == principal
    assert await people.requests() == []


async def test_a_code_is_worth_an_hour(people, clock):
    code = await people.issue_code("fake", ANN)
    clock.now += CODE_TTL_SECONDS + 1
    with pytest.raises(NotFound):
        await people.pair(code, as_owner=True)


async def test_a_stranger_gets_one_code_every_ten_minutes(people, clock):
    assert await people.issue_code("fake", ANN)
    assert await people.issue_code("fake", ANN) is None
    clock.now += REISSUE_AFTER_SECONDS + 1
    assert await people.issue_code("fake", ANN)


async def test_three_strangers_wait_at_most(people):
    given = [await people.issue_code("fake", Sender(id=str(n))) for n in range(5)]
    assert [code is not None for code in given] == [True, True, True, False, False]
    assert await people.issue_code("other", ANN)


async def test_after_five_wrong_codes_nobody_is_paired_for_an_hour(people, clock):
    code = await people.issue_code("fake", ANN)
    for _ in range(5):
        with pytest.raises(NotFound):
            await people.pair("WRONGONE", as_owner=True)
    with pytest.raises(NotAllowed):
        await people.pair(code, as_owner=True)
    clock.now += LOCKOUT_SECONDS + 1
    fresh = await people.issue_code("fake", ANN)
    assert (await people.pair(fresh, as_owner=True))[1] == OWNER


async def test_no_pairing_no_code(store, home):
    assert await Identities(store, make_settings(home, gateway_pairing=False)).issue_code("fake", ANN) is None


async def test_who_was_let_in_can_be_put_out(people):
    await people.pair(await people.issue_code("fake", ANN), as_owner=True)
    assert [(platform, sender) for platform, sender, _ in await people.list_paired()] == [("fake", "42")]
    assert await people.unpair("fake", "42")
    assert await people.identify(INFO, ANN) is None
