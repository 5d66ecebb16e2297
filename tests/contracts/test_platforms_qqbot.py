"""qqbot, on a server that speaks its wire."""

import json
import logging
import time

import pytest

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.qqbot import adapter as qqbot_adapter
from sojourn.platforms.qqbot.messages import hide_mentions
from sojourn.platforms.reply_tickets import KIND
from sojourn.ports.platform import Button, CanAsk, File
from sojourn.testing.platform_abilities import has_lasting_buttons
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from sojourn.testing.platform_steps import listening
from tests.servers.qqbot import ANN, BEN, SECRET, Refused, qqbot_rig


@pytest.fixture
async def harness():
    async with qqbot_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestQqbot(PlatformContract):
    pass


class TestQqbotButtons(PlatformContract):
    @pytest.fixture
    async def harness(self):
        async with qqbot_rig(markdown=True) as harness:
            yield harness


async def test_buttons_need_markdown_and_stay(adapter):
    assert not isinstance(adapter, CanAsk)
    async with qqbot_rig(markdown=True) as harness:
        allowed = harness.connect()
        assert has_lasting_buttons(allowed)
        await allowed.close()


async def test_a_session_is_resumed_behind_what_is_stored_also_after_a_restart(harness, adapter):
    dm = adapter.home(f"c2c:{ANN.id}")
    async with listening(harness, adapter) as ear:
        await harness.write(dm, "one", ANN)
        await ear.hear()
        await ear.hears_nothing()
    await adapter.close()
    for n in range(3):
        await harness.write(dm, f"away {n}", ANN)
    again = harness.connect()
    async with listening(harness, again) as ear:
        assert [(await ear.hear()).text for _ in range(3)] == ["away 0", "away 1", "away 2"]
    assert [one["op"] for one in harness.server.signed_in] == [2, 6]
    await again.close()


async def test_a_forgotten_session_begins_anew(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home("group:GARDENID"), "hello", ANN)
        await ear.hear()
        await ear.hears_nothing()
    harness.server.sessions.clear()
    listener = InboundListener(adapter)
    with pytest.raises(PlatformDown, match="forgotten"):
        await listener.hear()
    await listener.close()
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(f"c2c:{ANN.id}"), "anew", ANN)
        assert (await ear.hear()).text == "anew"
    assert harness.server.signed_in[-1]["op"] == 2


@pytest.mark.parametrize(
    ("code", "error"), [(4915, KeyRefused), (4006, PlatformDown), (4004, PlatformDown), (4009, PlatformDown)]
)
async def test_close_codes(harness, adapter, code, error):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(f"c2c:{ANN.id}"), "one", ANN)
        await ear.hear()
        ear.open()
        await harness.server.lines[-1][1].close(code=code)
        with pytest.raises(error):
            await ear.hear()
    if code != 4915:
        async with listening(harness, adapter):
            pass
        assert harness.server.signed_in[-1]["op"] == (2 if code == 4006 else 6)


async def test_it_beats_and_follows_a_call_to_reconnect(harness, adapter, monkeypatch):
    monkeypatch.setattr(qqbot_adapter, "_MIN_HEARTBEAT_SECONDS", 0.02)
    harness.server.interval_ms = 20
    async with listening(harness, adapter) as ear:
        await harness.server.changed.until(lambda: len(harness.server.beats) > 1)
        await harness.server.push_raw('{"op": 7}')
        with pytest.raises(PlatformDown):
            await ear.hear()


async def test_five_answers_are_numbered_and_counted_across_a_restart(harness, adapter):
    dm = adapter.home(f"c2c:{ANN.id}")
    async with listening(harness, adapter) as ear:
        id = await harness.write(dm, "hello", ANN)
        await ear.hear()
    for n in range(3):
        await adapter.send(dm, f"answer {n}")
    await adapter.close()
    again = harness.connect()
    harness.server.needs_ticket = True
    for n in range(2):
        await again.send(dm, f"more {n}")
    assert [(one["msg_id"], one["msg_seq"]) for one in harness.server.bodies] == [(id, n) for n in range(1, 6)]
    with pytest.raises(SendRefused) as refused:
        await again.send(dm, "a sixth")
    assert (refused.value.kind, "five times" in refused.value.hint) == ("forbidden", True)
    assert "msg_id" not in harness.server.bodies[-1]
    await again.close()


async def test_the_window_of_a_group_is_five_minutes_and_of_a_person_an_hour(harness, adapter):
    async with listening(harness, adapter) as ear:
        for words in harness.chats.values():
            await harness.write(adapter.home(words), "hello", ANN)
            await ear.hear()
    left = {
        one.key.rpartition("qqbot:")[2]: one.value["expires_at"] - time.time()
        for one in await harness.kit.store.list_records(KIND)
    }
    assert sorted(round(one / 60) for one in left.values()) == [5, 5, 60]


async def test_an_old_ticket_is_left_once(harness, adapter):
    dm = adapter.home(f"c2c:{ANN.id}")
    async with listening(harness, adapter) as ear:
        await harness.write(dm, "hello", ANN)
        await ear.hear()
    harness.server.faults.append(Refused(400, 304027))
    await adapter.send(dm, "late")
    assert ["msg_id" in one for one in harness.server.bodies] == [True, False]
    harness.server.needs_ticket = True
    with pytest.raises(SendRefused):
        await adapter.send(dm, "later")
    assert len(harness.server.bodies) == 3


async def test_what_waits_for_an_audit_is_sent(harness, adapter):
    harness.server.faults.append(Refused(202, 304023))
    assert (await adapter.send(adapter.home("channel:77"), "hello")).id


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Refused(429, 1), "rate_limited"),
        (Refused(400, 22009), "rate_limited"),
        (Refused(400, 304025), "forbidden"),
        (Refused(400, 50056), "bad_format"),
        (Refused(404, 1), "not_found"),
        (Refused(500, 1), "transient"),
        (Refused(400, 7), "unknown"),
    ],
)
async def test_codes_become_kinds(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(f"c2c:{ANN.id}"), "hello")
    assert refused.value.kind == kind


async def test_a_token_that_ran_out_is_renewed_while_sending(harness, adapter):
    await adapter.send(adapter.home(f"c2c:{ANN.id}"), "one")
    harness.server.tokens.clear()
    await adapter.send(adapter.home(f"c2c:{ANN.id}"), "two")
    assert len(harness.server.posts[f"c2c:{ANN.id}"]) == 2


async def test_a_token_request_that_fails_inside_a_200(harness, adapter):
    for result, error in (
        ({"code": 100001, "message": "often"}, SendRefused),
        ({}, SendRefused),
        ({"code": 100016}, KeyRefused),
    ):
        harness.server.token_result = result
        with pytest.raises(error):
            await adapter.send(adapter.home(f"c2c:{ANN.id}"), "one")


async def test_a_press_is_confirmed_when_it_is_stored():
    async with qqbot_rig(markdown=True) as harness:
        adapter = harness.connect()
        button = Button(label="Yes", value="q:0")
        home = adapter.home("group:GARDENID")
        await adapter.ask(home, "May I?", [button])
        [shown] = await harness.read_messages(home)
        async with listening(harness, adapter) as ear:
            await harness.press(home, shown, button, BEN)
            await ear.hear()
            assert harness.server.confirmed == []
            ear.open()
            await harness.server.changed.until(lambda: bool(harness.server.confirmed))
        await adapter.close()


async def test_guild_channels_take_no_files_and_a_foreign_file_is_said(harness, adapter):
    with pytest.raises(SendRefused):
        await adapter.send_file(adapter.home("channel:77"), File(name="a", media_type="a/b", data=b""))
    async with listening(harness, adapter) as ear:
        event, data = harness.server.message(f"c2c:{ANN.id}", ANN, "look", attachments=[{"url": "evil.example/x"}])
        await harness.server.push(event, data)
        assert (await ear.hear()).text == "look\n[A file could not be downloaded: The file is not on a server of QQ.]"


def test_nobody_is_called_by_what_a_model_writes():
    hidden = hide_mentions("<@123> <@!1> @everyone <qqbot-at-everyone /> a@b.c <b>")
    assert not any(one in hidden for one in ("<@", "@everyone", "<qqbot-at"))
    assert "a@b.c <b>" in hidden


GOOD = {"id": "m", "content": "x", "author": {"user_openid": "ANN"}, "timestamp": "2026-01-02T03:04:05+08:00"}
HOSTILE_MESSAGES: list[object] = [
    {},
    [],
    "text",
    None,
    GOOD | {"id": 7},
    GOOD | {"id": "m" * 5000},
    GOOD | {"author": None},
    GOOD | {"author": {}},
    GOOD | {"author": ["ANN"]},
    GOOD | {"author": {"user_openid": "../x"}},
    GOOD | {"author": {"user_openid": "a:b"}},
    GOOD | {"author": {"user_openid": "A" * 4000}},
    GOOD | {"author": {"user_openid": "ANN", "bot": True}},
    GOOD | {"content": None},
    GOOD | {"content": ["x"]},
    GOOD | {"content": "  "},
    GOOD | {"content": "", "attachments": "x"},
    GOOD | {"content": "", "attachments": [7, None, {"url": 7}]},
]
HOSTILE_PRESSES = [
    {},
    {"id": "i"},
    {"id": "i", "data": []},
    {"id": "i", "user_openid": "ANN", "data": {"resolved": {"button_data": "x"}}},
    {"id": "i", "user_openid": "../x", "data": {"resolved": {"button_data": '{"value":"q","chat":"c2c:A"}'}}},
    {"id": "i", "user_openid": "ANN", "data": {"resolved": {"button_data": '{"value":"q","chat":"x"}'}}},
]
HOSTILE_FRAMES = [
    "",
    "not json",
    "[]",
    "7",
    "{}",
    '{"op": "0"}',
    '{"op": 0}',
    '{"op": 0, "t": 7, "d": 7, "s": "x"}',
    '{"op": 0, "t": "C2C_MESSAGE_CREATE", "s": -5}',
    '{"op": 0, "t": "X", "s": 1e400}',
    '{"a":' * 90_000,
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        for text in HOSTILE_FRAMES:
            await harness.server.push_raw(text)
        for message in HOSTILE_MESSAGES:
            await harness.server.push("C2C_MESSAGE_CREATE", message, keep=False)
        for press in HOSTILE_PRESSES:
            await harness.server.push("INTERACTION_CREATE", press, keep=False)
        for event in ("GROUP_AT_MESSAGE_CREATE", "AT_MESSAGE_CREATE", "DIRECT_MESSAGE_CREATE", "NEW_THING"):
            await harness.server.push(event, GOOD, keep=False)
        await harness.write(adapter.home(f"c2c:{ANN.id}"), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_FRAMES) + len(HOSTILE_MESSAGES) + len(HOSTILE_PRESSES) >= 30
    assert SECRET not in caplog.text
    assert len(await harness.kit.store.list_records(KIND)) == 1
    assert json.dumps(harness.server.signed_in[0]["op"]) == "2"
