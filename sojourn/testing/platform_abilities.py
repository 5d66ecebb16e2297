"""What some platforms can do besides hearing and sending; tried where the adapter has it."""

from __future__ import annotations

import pytest

from sojourn.core.places import Place, build_session_key
from sojourn.ports.platform import (
    Button,
    CanAsk,
    CanEdit,
    CanReact,
    CanSendFiles,
    CanThread,
    CanType,
    PlatformAdapter,
    Sent,
)
from sojourn.testing.platform_harness import PICTURE, HasButtons, PlatformHarness
from sojourn.testing.platform_steps import ability, hear_one, listening, ours

BUTTONS = (Button(label="Yes", value="q" + "0123456789abcdef:0" * 3), Button(label="No", value="q:1"))


class PlatformAbilitiesContract:
    """Part of PlatformContract, which has its fixtures."""

    async def test_edits_what_it_sent(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        ability(adapter, CanEdit)
        assert isinstance(adapter, CanEdit)
        sent = await adapter.send(chat, "half an ans")
        await adapter.edit(sent, "half an answer, and the rest")
        [shown] = ours(await harness.read_messages(chat), harness)
        assert (shown.id, shown.text) == (sent.id, "half an answer, and the rest")

    async def test_a_button_that_is_pressed_is_heard_in_place(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        ability(adapter, CanAsk)
        assert isinstance(adapter, CanAsk)
        async with listening(harness, adapter) as ear:
            for place in (chat, *await self._threads(harness, adapter)):
                sent = await adapter.ask(place, "May I?", BUTTONS)
                [shown] = [one for one in ours(await harness.read_messages(place), harness) if one.id == sent.id]
                assert ("May I?" in shown.text, shown.buttons) == (True, BUTTONS)
                assert isinstance(harness, HasButtons)
                person = harness.people[0 if place.kind == "dm" else 1]  # a private chat is the first one's
                await harness.press(place, shown, BUTTONS[1], person)
                heard = await ear.hear()
                assert (heard.pressed, heard.text) == (BUTTONS[1].value, BUTTONS[1].label)
                assert (heard.reply_to, heard.sender.id, heard.mentioned) == (sent.id, person.id, True)
                assert build_session_key(heard.place, heard.sender) == build_session_key(place, person)

    async def _threads(self, harness: PlatformHarness, adapter: PlatformAdapter) -> list[Place]:
        if not isinstance(adapter, CanThread):
            return []
        return [
            await adapter.create_handoff_thread(adapter.home(harness.chats[kind]), "thread") for kind in harness.threads
        ]

    async def test_two_presses_are_two_messages(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        ability(adapter, CanAsk)
        assert isinstance(adapter, CanAsk)
        await adapter.ask(chat, "May I?", BUTTONS)
        [shown] = ours(await harness.read_messages(chat), harness)
        async with listening(harness, adapter) as ear:
            for person in harness.people:
                assert isinstance(harness, HasButtons)
                await harness.press(chat, shown, BUTTONS[0], person)
            first, second = await ear.hear(), await ear.hear()
        assert first.id != second.id
        assert [first.sender.id, second.sender.id] == [one.id for one in harness.people]

    async def test_an_edit_takes_the_buttons_away(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        ability(adapter, CanAsk)
        assert isinstance(adapter, CanAsk)
        if has_lasting_buttons(adapter):
            pytest.skip(f"the buttons of {adapter.info.name} stay; a new message says how a question ended")
        assert isinstance(adapter, CanEdit)
        sent = await adapter.ask(chat, "May I?", BUTTONS, plain=True)
        await adapter.edit(sent, "May I? → Yes")
        [shown] = ours(await harness.read_messages(chat), harness)
        assert (shown.text, shown.buttons) == ("May I? → Yes", ())

    async def test_buttons_that_stay_can_be_pressed_again(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        """The gateway refuses the second press, so it has to hear of it, as a message of its own."""
        if not has_lasting_buttons(adapter):
            pytest.skip(f"{adapter.info.name} has no buttons that stay")
        assert isinstance(adapter, CanAsk)
        await adapter.ask(chat, "May I?", BUTTONS)
        [shown] = ours(await harness.read_messages(chat), harness)
        async with listening(harness, adapter) as ear:
            assert isinstance(harness, HasButtons)
            await harness.press(chat, shown, BUTTONS[0], harness.people[0])
            await harness.press(chat, shown, BUTTONS[0], harness.people[0])
            first, second = await ear.hear(), await ear.hear()
        assert first.id != second.id
        assert (first.pressed, second.pressed) == (BUTTONS[0].value, BUTTONS[0].value)

    async def test_shows_that_it_is_typing(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        ability(adapter, CanType)
        assert isinstance(adapter, CanType)
        await adapter.typing(chat)
        assert ours(await harness.read_messages(chat), harness) == []

    async def test_sends_files(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        ability(adapter, CanSendFiles)
        assert isinstance(adapter, CanSendFiles)
        sent = await adapter.send_file(chat, PICTURE, caption="a dot")
        [shown] = ours(await harness.read_messages(chat), harness)
        assert shown.id == sent.id
        assert "a dot" in shown.text
        assert [file.data for file in shown.files] == [PICTURE.data]

    async def test_reacts(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        ability(adapter, CanReact)
        assert isinstance(adapter, CanReact)
        sent = await adapter.send(chat, "something to like")
        heard = await hear_one(harness, adapter, chat, "something to see")
        await adapter.react(sent, "👍")
        await adapter.react(Sent(place=heard.place, id=heard.id), "👀")
        shown = {one.id: one.reactions for one in await harness.read_messages(chat)}
        assert (shown[sent.id], shown[heard.id]) == (("👍",), ("👀",))


def has_lasting_buttons(adapter: object) -> bool:
    """Whether its buttons cannot be removed: a new message says how a question ended, and a later press is refused."""
    return isinstance(adapter, CanAsk) and not isinstance(adapter, CanEdit)
