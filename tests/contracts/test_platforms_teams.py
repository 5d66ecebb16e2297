"""teams, on a server that speaks the Bot Framework's protocol."""

import json
import time

import pytest

from sojourn.core.errors import BadInput, SendRefused, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.teams import NAME
from sojourn.ports.platform import Button
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import listening
from tests.servers.microsoft import CLIENT, OTHER_KEY, build_jwk, sign_token
from tests.servers.teams import ANN, BEN, BOT, CHANNEL, DM, GROUP, ISSUER, teams_rig


@pytest.fixture
async def harness():
    async with teams_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestTeams(PlatformContract):
    pass


async def post(harness, activity, token=None):
    headers = {"Authorization": f"Bearer {token or harness.server.build_token()}"}
    return (await harness.http.post("/teams", content=json.dumps(activity).encode(), headers=headers)).status_code


# channels and threads
async def test_a_handoff_thread_in_a_channel_has_the_key_of_the_next_message_there(harness, adapter):
    async with listening(harness, adapter) as ear:
        thread = await adapter.create_handoff_thread(adapter.home(CHANNEL), "Sojourn — from home")
        await adapter.send(thread, "I am here now")
        for person in (ANN, BEN):
            await harness.write(thread, "and so am I", person)
            heard = await ear.hear()
            assert heard.text == "and so am I"
            assert build_session_key(heard.place, heard.sender) == build_session_key(thread)
    assert (thread.kind, thread.parent) == ("thread", CHANNEL)
    assert [one.text for one in harness.server.posts[CHANNEL]] == ["Sojourn — from home"]
    assert [one.text for one in await harness.read_messages(thread)] == ["I am here now"]


async def test_two_handoff_threads_are_two_places(adapter):
    home = adapter.home(CHANNEL)
    made = [await adapter.create_handoff_thread(home, "the same name") for _ in range(2)]
    assert len({build_session_key(one) for one in (home, *made)}) == 3
    with pytest.raises(ThreadsUnsupported):
        await adapter.create_handoff_thread(made[0], "deeper")


async def test_where_the_bot_may_not_write_there_is_no_thread(harness, adapter):
    harness.server.faults.append((403, None))
    with pytest.raises(ThreadsUnsupported, match="BotNotInConversationRoster"):
        await adapter.create_handoff_thread(adapter.home(CHANNEL), "a thread")
    harness.server.faults.append((429, 3))
    with pytest.raises(SendRefused):
        await adapter.create_handoff_thread(adapter.home(CHANNEL), "a thread")


async def test_a_post_in_a_channel_begins_a_thread_and_is_answered_there(harness, adapter):
    async with listening(harness, adapter) as ear:
        id = await harness.write(adapter.home(CHANNEL), "good morning", ANN)
        heard = await ear.hear()
        await adapter.send(heard.place, "good morning, Ann", reply_to=heard.id)
    number = id.rpartition("#")[2]
    assert (heard.place.kind, heard.place.thread, heard.id) == ("thread", number, id)
    assert [one.text for one in harness.server.posts[f"{CHANNEL};messageid={number}"]] == ["good morning, Ann"]
    assert harness.server.bodies[-1]["replyToId"] == number


async def test_a_chat_is_answered_on_its_own_server_also_after_a_restart(harness, adapter):
    home = adapter.home(DM)
    servers = ReplyTickets(harness.kit.store, NAME, CLIENT)
    await servers.save(home, "https://evil.example/", expires_at=time.time() + 60)
    await adapter.send(home, "to the one in the settings")
    await servers.save(home, f"{harness.server.url}/teams", expires_at=time.time() + 60)
    await adapter.send(home, "to its own")
    assert len(harness.server.posts[DM]) == 2


# messages
async def test_mentions_of_us_are_left_out_and_others_stay(harness, adapter):
    other = {"type": "mention", "mentioned": {"id": "29:ben"}, "text": "<at>Ben</at>"}
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_activity(GROUP, ANN, "ask <at>Ben</at>") | {"entities": [other]})
        heard = await ear.hear()
        harness.notify(harness.server.build_activity(GROUP, ANN, "ask <at>Ben</at>"))
        named = await ear.hear()
    assert (heard.mentioned, heard.named, "<at>Sojourn</at>" in heard.text) == (False, False, True)
    assert (named.mentioned, named.named, named.text) == (True, True, "ask <at>Ben</at>")


async def test_messages_with_one_number_in_two_chats_are_two(harness, adapter):
    async with listening(harness, adapter) as ear:
        for chat in (DM, GROUP):
            harness.notify(harness.server.build_activity(chat, ANN, "hello", id="1700000000001"))
        assert len({(await ear.hear()).id for _ in range(2)}) == 2


async def test_pictures_need_our_token_and_files_do_not_get_it(harness, adapter):
    harness.server.files = {"a": PICTURE, "b": PICTURE}
    picture = {"contentType": "image/*", "contentUrl": f"{harness.server.url}/files/a"}
    kind = "application/vnd.microsoft.teams.file.download.info"
    file = {"contentType": kind, "content": {"downloadUrl": f"{harness.server.url}/files/b"}, "name": "dot.png"}
    evil = [{"contentType": "image/png", "contentUrl": "https://evil.example/x"}]
    evil += [{"contentType": kind, "content": {"downloadUrl": "https://evil.example/x"}}]
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_activity(DM, ANN, "look", attachments=[picture, file]))
        assert [one.data for one in (await ear.hear()).files] == [PICTURE.data] * 2
        harness.notify(harness.server.build_activity(DM, ANN, "look", attachments=evil))
        assert (await ear.hear()).text.count("not on a server of Teams") == 2
    assert [(id, bool(token)) for id, token in harness.server.fetched] == [("a", True), ("b", False)]


async def test_a_press_brings_back_its_question_and_an_edit_takes_the_card_away(harness, adapter):
    home, button = adapter.home(GROUP), Button(label="Yes", value="q:0")
    sent = await adapter.ask(home, "rm *x*?", [button], plain=True)
    block = harness.server.bodies[-1]["attachments"][0]["content"]["body"][0]
    assert block == {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "rm *x*?"}]}
    [shown] = await harness.read_messages(home)
    async with listening(harness, adapter) as ear:
        await harness.press(home, shown, button, BEN)
        press = await ear.hear()
    assert (press.pressed, press.text, press.reply_to, press.sender.id) == ("q:0", "Yes", sent.id, BEN.id)
    await adapter.edit(sent, "Ben said yes")
    [shown] = await harness.read_messages(home)
    assert (shown.text, shown.buttons) == ("Ben said yes", ())


async def test_other_activities_are_answered_and_bring_nothing(harness, adapter):
    async with listening(harness, adapter) as ear:
        for kind in (
            "conversationUpdate",
            "messageReaction",
            "messageUpdate",
            "invoke",
            "typing",
            "installationUpdate",
        ):
            assert await post(harness, harness.server.build_activity(DM, ANN, "x", type=kind)) == 200
        await ear.hears_nothing()


@pytest.mark.parametrize(("status", "kind"), [(412, "transient"), (502, "transient"), (429, "rate_limited")])
async def test_statuses_become_kinds(harness, adapter, status, kind):
    harness.server.faults.append((status, None))
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(DM), "hello")
    assert refused.value.kind == kind


async def test_a_token_that_ran_out_is_renewed_while_sending(harness, adapter):
    await adapter.send(adapter.home(DM), "one")
    harness.server.tokens.clear()
    await adapter.send(adapter.home(DM), "two")
    assert len(harness.server.posts[DM]) == 2


# who may send
def claims_for(harness, **more):
    return {"iss": ISSUER, "aud": CLIENT, "serviceurl": f"{harness.server.url}/teams/"} | more


BAD_CLAIMS = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another bot": {"aud": "33333333"},
    "no bot": {"aud": None},
    "old": {"exp": int(time.time()) - 600},
    "without an end": {"exp": None},
    "to come": {"nbf": int(time.time()) + 900},
    "another server": {"serviceurl": "https://evil.example/"},
    "no server": {"serviceurl": None},
}


@pytest.mark.parametrize("name", BAD_CLAIMS)
async def test_a_token_for_somebody_else_or_another_time_is_refused(harness, adapter, name):
    async with listening(harness, adapter) as ear:
        activity = harness.server.build_activity(DM, ANN, "evil")
        assert await post(harness, activity, sign_token(claims_for(harness, **BAD_CLAIMS[name]))) == 401
        await ear.hears_nothing()


async def test_a_clock_may_be_five_minutes_off(harness, adapter):
    async with listening(harness, adapter) as ear:
        token = sign_token(claims_for(harness, exp=int(time.time()) - 200))
        body = json.dumps(harness.server.build_activity(DM, ANN, "late")).encode()
        harness.sender.send(lambda: ("/teams", body, {"Authorization": f"Bearer {token}"}))
        assert (await ear.hear()).text == "late"


@pytest.mark.parametrize(
    ("key", "id", "algorithm"),
    [
        (OTHER_KEY, "key-1", "RS256"),
        (OTHER_KEY, "key-9", "RS256"),
        (OTHER_KEY, None, "RS256"),
        ("a-secret-that-is-long-enough-here", "key-1", "HS256"),
        ("", "key-1", "none"),
    ],
    ids=["another key", "an unknown key", "no key", "a secret", "no signature"],
)
async def test_a_token_that_microsoft_did_not_sign_is_refused(harness, adapter, key, id, algorithm):
    async with listening(harness, adapter) as ear:
        token = sign_token(claims_for(harness), key, id, algorithm)
        assert await post(harness, harness.server.build_activity(DM, ANN, "evil"), token) == 401
        await ear.hears_nothing()


async def test_our_token_is_not_given_to_a_server_that_a_request_names(harness, adapter):
    for server in (
        "https://evil.example/",
        "http://smba.trafficmanager.net/",
        "https://smba.trafficmanager.net.evil.example/",
    ):
        async with listening(harness, adapter) as ear:
            activity = harness.server.build_activity(DM, ANN, "evil", serviceUrl=server)
            assert await post(harness, activity, sign_token(claims_for(harness, serviceurl=server))) == 401
            await ear.hears_nothing()
    true = "https://smba.trafficmanager.net/emea/"
    token = sign_token(claims_for(harness, serviceurl=true))
    async with listening(harness, adapter) as ear:
        body = json.dumps(harness.server.build_activity(DM, ANN, "hello", serviceUrl=true)).encode()
        harness.sender.send(lambda: ("/teams", body, {"Authorization": f"Bearer {token}"}))
        assert (await ear.hear()).text == "hello"


async def test_a_key_that_is_not_meant_for_teams_is_refused(harness, adapter):
    harness.server.keys = [build_jwk(endorsements=["slack"])]
    async with listening(harness, adapter):
        assert await post(harness, harness.server.build_activity(DM, ANN, "evil")) == 401
    harness.server.keys = [build_jwk()]  # as in Microsoft's own client, a key that is meant for nothing is for all
    again = harness.connect()
    async with listening(harness, again) as ear:
        await harness.write(again.home(DM), "hello", ANN)
        assert (await ear.hear()).text == "hello"
    await again.close()


@pytest.mark.parametrize(
    "more",
    [
        {"channelData": {"tenant": {"id": "another"}}},
        {"conversation": {"id": DM, "conversationType": "personal", "tenantId": "another"}, "channelData": {}},
        {"conversation": {"id": DM, "conversationType": "personal"}, "channelData": {}},
        {"conversation": {"id": GROUP, "conversationType": "personal", "tenantId": "11111111-aaaa"}},
        {"conversation": {"id": DM, "conversationType": "groupChat", "tenantId": "11111111-aaaa"}},
        {"conversation": {"id": f"{DM};messageid=1", "conversationType": "personal", "tenantId": "11111111-aaaa"}},
        {"from": {"id": BOT}},
        {"from": {"id": "28:other", "aadObjectId": "x"}},
        {"id": "../x"},
    ],
    ids=range(9),
)
async def test_strangers_bots_and_places_that_do_not_fit_are_left_out(harness, adapter, more):
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_activity(DM, ANN, "evil") | more)
        await ear.hears_nothing()


def test_words_that_name_no_chat(adapter):
    for words in ("", "a b", "../x", "19:x@thread.v2;messageid=1", "a;messageid=x", "a" * 300):
        with pytest.raises(BadInput):
            adapter.home(words)
    kinds = {CHANNEL: "channel", GROUP: "group", DM: "dm", f"{CHANNEL};messageid=1": "thread"}
    assert {words: adapter.home(words).kind for words in kinds} == kinds
