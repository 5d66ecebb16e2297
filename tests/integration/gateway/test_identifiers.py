"""Ids of networks that look like secrets: a session is handed over, answered and delivered to under the true id."""

import json

import pytest

from sojourn.core.places import Place, Sender
from sojourn.core.sessions import Principal
from sojourn.gateway.bindings import encode_place
from sojourn.platforms.cursor import CursorStore
from sojourn.platforms.reply_tickets import ReplyTickets
from sojourn.platforms.rooms import Rooms
from sojourn.ports.service import Caller, TurnRequest
from sojourn.schedules.recurrence import parse_recurrence
from sojourn.schedules.schedule_book import Schedule, ScheduleBook
from sojourn.service.turn_record import KIND, TurnRecord
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.fake_platform import FakeNetwork, FakePlatform
from sojourn.text.codec import decode_value
from sojourn.text.redaction import redact
from sojourn.turn_support.handoff_destinations import HomeChannels
from tests.integration.gateway.worlds import world

KEY = "sk-proj-" + "Ab1" * 12  # what any random part of an id may happen to look like
# The shapes of ids: a chat, a thread in it, a message and a person.
SHAPES = {
    "matrix": ("!6mwII-{}_I2rM:example.org", "${}", "${}", "@ann-{}:example.org"),
    "teams": ("19:{}@thread.tacv2", "{}", "f:{}", "{}"),
    "weixin": ("{}@im.wechat", "{}", "{}", "{}@im.wechat"),
    "xmpp": ("{}@conference.example.org", "{}", "{}/{}", "ann-{}@example.org"),
    "feishu": ("oc_{}", "omt_{}", "om_{}", "ou_{}"),
    "dingtalk": ("cid{}==", "{}", "msg{}==", "{}"),
    "signal": ("{}=", "{}", "{}/1700000000000", "{}"),
    "whatsapp": ("{}", "{}", "wamid.{}==", "{}"),
    "qqbot": ("group:{}", "{}", "{}", "{}"),
    "wecom": ("wr{}", "{}", "{}", "{}"),
    "bluebubbles": ("iMessage;+;chat{}", "{}", "p:0/{}", "{}@example.org"),
    "yuanbao": ("group_{}", "{}", "{}", "bot_{}"),
    "email": ("{}@example.org", "<{}@example.org>", "<{}@example.org>", "{}@example.org"),
    "slack": ("{}", "1700000000.{}", "1700000000.{}", "U{}"),
    "discord": ("{}", "{}", "{}", "{}"),
    "telegram": ("{}", "{}", "{}", "{}"),
    "mattermost": ("{}", "{}", "{}", "{}"),
}


class OddNetwork(FakeNetwork):
    """A network whose ids have the shape of a real one's."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.chat, self.thread, self.message, self.person = (one.replace("{}", KEY) for one in SHAPES[name])

    def open_thread(self, parent: Place, name: str) -> Place:
        self.threads_opened.append((parent.chat, name))
        return self.place(parent.chat, self.thread)

    def place(self, chat: str, thread: str | None = None) -> Place:
        if thread:
            return Place(platform=self.name, chat=chat, kind="thread", thread=thread, parent=chat)
        return Place(platform=self.name, chat=chat, kind="dm")


@pytest.fixture(params=SHAPES)
def network(request):
    return OddNetwork(request.param)


def test_every_shape_would_be_redacted(network):
    assert redact(json.dumps([network.chat])) != json.dumps([network.chat])


async def test_a_session_is_handed_over_and_goes_on_in_the_thread(network, home, store):
    ann = Sender(id=network.person, name="Ann")
    owner = {"gateway_owners": f"{network.name}:{network.person}", "gateway_home": f"{network.name}:{network.chat}"}
    async with world(home, store, **owner) as at:
        at.network = network
        await at.start(FakePlatform(network))
        session = await at.session("plant a tree", title="The garden")
        done = await at.hand_over(session, network.name)
        assert (done.state, done.thread_id) == ("completed", network.thread)
        assert len(await at.texts(network.chat, 1, network.thread)) == 1
        network.say(network.chat, "and a rose", ann, thread=network.thread, id=f"{network.message}2")
        assert (await at.texts(network.chat, 2, network.thread))[1] == "and a rose"
        assert [one.session.id for one in at.runtime.seen[-2:]] == [session.id] * 2
        await at.quiet()
        [binding] = await store.bindings(session=session.id)
        assert binding.details == encode_place(network.place(network.chat, network.thread))
        rows = await store.incoming(states=("done",)) + await store.outgoing(states=("delivered",))
        assert {one.payload["place"]["chat"] for one in rows} == {network.chat}
        assert f"{network.message}2" in [one.payload.get("reply_to") or one.payload.get("id") for one in rows]


async def test_a_guest_and_a_home_channel_chosen_in_the_chat(network, home, store):
    ben = Sender(id=network.person, name="Ben")
    async with world(home, store, gateway_owners="", gateway_guests=f"{network.name}:{network.person}") as at:
        at.network = network
        await at.start(FakePlatform(network))
        network.say(network.chat, "/sethome", ben)
        await at.texts(network.chat, 1)
        network.say(network.chat, "hello", ben)
        assert (await at.texts(network.chat, 2))[1] == "hello"
        guest = at.runtime.seen[-1].session.principal
        home_channel = await HomeChannels(store, at.settings).find(FakePlatform(network), guest)
        assert (home_channel.place.chat, home_channel.chosen_by) == (network.chat, Sender(id=ben.id, name=ben.name))


async def test_tickets_cursors_and_schedules_keep_them(network, store):
    place = network.place(network.chat, network.thread)
    tickets = ReplyTickets(store, network.name, "us")
    await tickets.save(place, network.message, expires_at=9e9)
    assert (await tickets.take(place)).value == network.message
    cursors, value = CursorStore(store, network.name, "us"), {"rooms": {network.chat: {"last": network.message}}}
    await cursors.save(value)
    assert await cursors.load() == value
    book = ScheduleBook(store)
    made = await book.add(
        Schedule(
            id="",
            name="news",
            when="every day at 8:00",
            recurrence=parse_recurrence("every day at 8:00"),
            text=f"use {KEY}",
            deliver=f"{network.name}:{network.chat}",
        )
    )
    kept = await book.find(made.id)
    assert (kept.deliver, kept.text) == (f"{network.name}:{network.chat}", "use [redacted:api-key]")


async def test_a_turn_keeps_whose_it_is(network, store):
    guest = Principal(f"guest:{network.name}-{network.person}")
    session = await store.create(principal=guest)
    said = TurnRequest(text=f"use {KEY}", key=network.message)
    by = Caller(surface=network.name, principal=guest)
    record = TurnRecord(session=session.id, principal=guest, said=said, by=by, runtime="echo")
    await store.put_record(record.to_record())
    kept = decode_value(TurnRecord, (await store.get_record(KIND, record.key)).value)
    assert (kept.principal, kept.by.principal) == (guest, guest)
    assert kept.said.text == "use [redacted:api-key]"


async def test_a_message_in_a_room_of_our_own_keeps_its_room(home, store):
    rooms = Rooms(FakeApp(store=store, settings=make_settings(home)))
    message = await rooms.say(KEY, f"use {KEY}", Sender(id=KEY), key=KEY)
    kept = await rooms.get(KEY, message.n)
    assert (kept.room, kept.by, kept.key, kept.text) == (KEY, KEY, KEY, "use [redacted:api-key]")
