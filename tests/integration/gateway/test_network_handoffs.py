"""A session is handed over to every network that people talk on, through a running gateway.

Those with a server of their own (IRC, e-mail, XMPP, Matrix) are tried beside their contracts.
"""

import json

import pytest

from tests.integration.gateway.network_steps import gateway_on, hand_over_and_go_on, read_ours
from tests.servers.harnesses import RIGS
from tests.servers.sms import ANN, sms_rig
from tests.servers.teams import CHANNEL, teams_rig
from tests.servers.whatsapp import whatsapp_rig

PROGRAMS = ("homeassistant", "webhook", "msgraph_webhook")  # nobody talks there: programs send events
SILENT = "+491777777777"


@pytest.mark.parametrize("name", sorted(set(RIGS) - set(PROGRAMS)))
async def test_a_session_goes_on_where_it_was_handed_over_to(name, home, store):
    async with RIGS[name]() as harness:
        await hand_over_and_go_on(harness, home, store)


async def test_in_a_channel_of_teams_it_opens_a_thread(home, store):
    async with teams_rig() as harness:
        await hand_over_and_go_on(harness, home, store, chat=CHANNEL)


# tickets and windows
async def test_on_qq_the_first_words_answer_what_the_person_wrote(home, store):
    async with RIGS["qqbot"]() as harness:
        harness.server.needs_ticket = True  # whatever answers nothing is refused
        await hand_over_and_go_on(harness, home, store)
        tickets = [(one["msg_id"], one["msg_seq"]) for one in harness.server.bodies]
        assert len(tickets) == len(set(tickets)) == 3
        assert tickets[0][0] == tickets[1][0] != tickets[2][0]


async def test_on_weixin_the_first_words_carry_the_newest_token(home, store):
    async with RIGS["weixin"]() as harness:
        await hand_over_and_go_on(harness, home, store)
        answer, spoken, next_answer = [one["context_token"] for one in harness.server.sent]
        assert answer == spoken != next_answer


async def test_outside_the_window_of_whatsapp_the_terminal_keeps_the_session_and_is_told_why(home, store):
    async with whatsapp_rig() as harness, gateway_on(harness, harness.connect(), home, store, SILENT) as at:
        session = await at.session("plant a tree")
        done = await at.hand_over(session, "whatsapp")
        assert (done.state, "24 hours" in done.error) == ("failed", True)
        assert (await at.service.get(session.id)).driver == "cli"
        assert harness.server.bodies == []


async def test_outside_the_window_of_whatsapp_a_template_speaks_first(home, store):
    async with whatsapp_rig() as harness:
        adapter = harness.connect(template="sojourn_note")
        async with gateway_on(harness, adapter, home, store, SILENT) as at:
            done = await at.hand_over(await at.session("plant a tree"), "whatsapp")
            assert done.state == "completed", done.error
            await read_ours(harness, adapter.home(SILENT), 1)
            assert {one["type"] for one in harness.server.bodies} == {"template"}


async def test_who_wants_no_text_messages_is_not_written_to(home, store):
    async with sms_rig() as harness:
        adapter = harness.connect()
        async with gateway_on(harness, adapter, home, store, ANN.id) as at:
            await harness.write(adapter.home(ANN.id), "STOP", ANN)
            await harness.sender.until_sent()
            session = await at.session("plant a tree")
            done = await at.hand_over(session, "sms")
            assert (done.state, harness.server.sent) == ("failed", []), json.dumps(harness.server.sent)
            assert (await at.service.get(session.id)).driver == "cli"
