"""PlatformContract on the platforms that need nothing but this machine."""

from collections.abc import Mapping, Sequence

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.api_server.chats import ApiServer, Chats
from sojourn.platforms.local import Local
from sojourn.platforms.rooms import Rooms
from sojourn.ports.app import AppContext
from sojourn.ports.platform import Button, File, PlatformAdapter
from sojourn.testing.fake_platform import ANN, BEN, KEY, ButtonPlatform, FakeNetwork, FakePlatform, PlainPlatform
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PostedMessage
from tests.integration.gateway.network_steps import hand_over_and_go_on


class FakeHarness:
    lacks: Mapping[str, str] = {}
    secret = KEY
    chats: Mapping[PlaceKind, str] = {"dm": "42", "group": "#garden", "channel": "!news"}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (ANN, BEN)

    def __init__(self, kind: type[PlainPlatform]) -> None:
        self.network, self._kind = FakeNetwork(), kind

    def connect(self) -> PlatformAdapter:
        return self._kind(self.network)

    def connect_wrongly(self) -> PlatformAdapter:
        return self._kind(self.network, key="wrong")

    async def until_listening(self) -> None:
        await self.network.listening()

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        return self.network.say(place.chat, text, by, thread=place.thread, files=files)

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        return self.network.read_messages(place.chat, place.thread)

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        self.network.press(posted, button.label, by)

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.network.refuse(kind, retry_after)

    async def drop_connections(self) -> None:
        self.network.drop_connections()

    async def break_sending(self) -> None:
        self.network.swallow()

    async def close(self) -> None: ...


class TestFake(PlatformContract):
    @pytest.fixture
    async def harness(self):
        return FakeHarness(FakePlatform)


class TestPlain(PlatformContract):
    """A network without any ability keeps the contract as well."""

    @pytest.fixture
    async def harness(self):
        return FakeHarness(PlainPlatform)


class TestButtons(PlatformContract):
    """Buttons that stay are an ability of their own."""

    @pytest.fixture
    async def harness(self):
        return FakeHarness(ButtonPlatform)


class LocalHarness:
    """People write through the rooms, as the HTTP API lets them."""

    lacks: Mapping[str, str] = {
        "other bots": "only people can write into these rooms",
        "bad format": "the text is kept as it is",
        "rate limit": "our own store takes what it is given",
        "forbidden": "there is nobody to forbid it",
        "not found": "a room is made by writing into it",
        "a lost line": "there is no line that could be lost",
        "no line at all": "there is no line that could be lost",
        "a wrong key": "it needs no credential at all",
        "files in": "rooms keep words only",
    }
    secret = ""
    chats: Mapping[PlaceKind, str] = {"dm": "home", "group": "#garden", "channel": "!news"}
    threads: Sequence[PlaceKind] = ("dm", "group")
    people = (Sender(id="owner", name="You"), Sender(id="ben", name="Ben"))

    def __init__(self, app: AppContext, kind: type[Local | ApiServer], rooms: type[Rooms]) -> None:
        self._app, self._kind, self._rooms = app, kind, app.shared(rooms)

    def connect(self) -> PlatformAdapter:
        return self._kind(self._app)

    def connect_wrongly(self) -> PlatformAdapter:
        raise NotImplementedError

    async def until_listening(self) -> None:
        """What is written before is heard as well."""

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        return (await self._rooms.say(place.chat, text, by, thread=place.thread)).id

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        notes = await self._rooms.read(place.chat)
        here = [one for one in notes if one.thread == place.thread and not one.opens]
        return [PostedMessage(id=one.id, text=one.text, by=one.by, buttons=one.buttons) for one in here]

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        await self._rooms.press(place.chat, int(posted.id.rpartition("/")[2]), button.value, by)

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        raise NotImplementedError

    async def drop_connections(self) -> None:
        raise NotImplementedError

    async def break_sending(self) -> None:
        raise NotImplementedError

    async def close(self) -> None: ...


class TestLocal(PlatformContract):
    @pytest.fixture
    async def harness(self):
        app = App(config.load())
        yield LocalHarness(app, Local, Rooms)
        await app.close()


class TestApiServer(PlatformContract):
    @pytest.fixture
    async def harness(self):
        app = App(config.load())
        yield LocalHarness(app, ApiServer, Chats)
        await app.close()


@pytest.mark.parametrize(("kind", "rooms"), [(Local, Rooms), (ApiServer, Chats)])
async def test_a_session_goes_on_where_it_was_handed_over_to(kind, rooms, home, store):
    app = App(config.load())
    await hand_over_and_go_on(LocalHarness(app, kind, rooms), home, store)
    await app.close()


async def test_the_chats_of_programs_are_not_the_rooms_of_people():
    app = App(config.load())
    await app.shared(Chats).say("home", "from a program", Sender(id="owner"))
    assert await app.shared(Rooms).list_unread() == await app.shared(Rooms).read("home") == []
    assert [one.text for one in await app.shared(Chats).list_unread()] == ["from a program"]
    await app.close()


async def test_the_same_key_is_said_and_heard_once():
    app = App(config.load())
    chats, ann = app.shared(Chats), Sender(id="owner")
    first = await chats.say("home", "once", ann, key="k 1")
    assert await chats.say("home", "once", ann, key="k 1") == first
    assert await Chats(app).say("home", "once", ann, key="k 1") == first
    assert await chats.say("home", "once", ann) != first
    assert [one.text for one in await chats.list_unread()] == ["once", "once"]
    await app.close()
