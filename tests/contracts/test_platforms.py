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
from sojourn.testing.fake_platform import ANN, BEN, KEY, FakeNetwork, FakePlatform, PlainPlatform
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_rig import Posted


class FakeRig:
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

    async def shown(self, place: Place) -> list[Posted]:
        return self.network.shown(place.chat, place.thread)

    async def press(self, place: Place, posted: Posted, button: Button, by: Sender) -> None:
        self.network.press(posted, button.label, by)

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.network.refuse(kind, retry_after)

    async def cut(self) -> None:
        self.network.cut()

    async def break_sending(self) -> None:
        self.network.swallow()

    async def close(self) -> None: ...


class TestFake(PlatformContract):
    @pytest.fixture
    async def rig(self):
        return FakeRig(FakePlatform)


class TestPlain(PlatformContract):
    """A network without any ability keeps the contract as well."""

    @pytest.fixture
    async def rig(self):
        return FakeRig(PlainPlatform)


class LocalRig:
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

    def __init__(self, kit: AppContext, kind: type[Local | ApiServer], rooms: type[Rooms]) -> None:
        self._kit, self._kind, self._rooms = kit, kind, kit.shared(rooms)

    def connect(self) -> PlatformAdapter:
        return self._kind(self._kit)

    def connect_wrongly(self) -> PlatformAdapter:
        raise NotImplementedError

    async def until_listening(self) -> None:
        """What is written before is heard as well."""

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        return (await self._rooms.say(place.chat, text, by, thread=place.thread)).id

    async def shown(self, place: Place) -> list[Posted]:
        notes = await self._rooms.read(place.chat)
        here = [one for one in notes if one.thread == place.thread and not one.opens]
        return [Posted(id=one.id, text=one.text, by=one.by, buttons=one.buttons) for one in here]

    async def press(self, place: Place, posted: Posted, button: Button, by: Sender) -> None:
        await self._rooms.press(place.chat, int(posted.id.rpartition("/")[2]), button.value, by)

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        raise NotImplementedError

    async def cut(self) -> None:
        raise NotImplementedError

    async def break_sending(self) -> None:
        raise NotImplementedError

    async def close(self) -> None: ...


class TestLocal(PlatformContract):
    @pytest.fixture
    async def rig(self):
        kit = App(config.load())
        yield LocalRig(kit, Local, Rooms)
        await kit.close()


class TestApiServer(PlatformContract):
    @pytest.fixture
    async def rig(self):
        kit = App(config.load())
        yield LocalRig(kit, ApiServer, Chats)
        await kit.close()


async def test_the_chats_of_programs_are_not_the_rooms_of_people():
    kit = App(config.load())
    await kit.shared(Chats).say("home", "from a program", Sender(id="owner"))
    assert await kit.shared(Rooms).list_unread() == await kit.shared(Rooms).read("home") == []
    assert [one.text for one in await kit.shared(Chats).list_unread()] == ["from a program"]
    await kit.close()


async def test_the_same_key_is_said_and_heard_once():
    kit = App(config.load())
    chats, ann = kit.shared(Chats), Sender(id="owner")
    first = await chats.say("home", "once", ann, key="k 1")
    assert await chats.say("home", "once", ann, key="k 1") == first
    assert await Chats(kit).say("home", "once", ann, key="k 1") == first
    assert await chats.say("home", "once", ann) != first
    assert [one.text for one in await chats.list_unread()] == ["once", "once"]
    await kit.close()
