"""The contract every platform keeps.

    class TestMine(PlatformContract):
        @pytest.fixture
        async def rig(self):
            async with my_network() as network:      # a real server, or one that speaks the real wire on loopback
                yield MyRig(network)                 # a PlatformRig, see platform_rig.py

What a network cannot be tried on is declared in the rig's `lacks`, with the reason; those tests are reported as
skipped, with that reason. Abilities (threads, edits, buttons, typing, files, reactions) are tried where the adapter
has them.
Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, build_session_key
from sojourn.ports.platform import CanThread, PlatformAdapter
from sojourn.testing.platform_abilities import PlatformAbilities
from sojourn.testing.platform_rig import PICTURE, Ear, PlatformRig, Trial, check_lacks
from sojourn.testing.platform_steps import a_text, ability, hear_one, key, listening, need, ours


class PlatformContract(PlatformAbilities):
    """Subclass it and give a `rig`."""

    @pytest.fixture
    async def adapter(self, rig: PlatformRig) -> AsyncIterator[PlatformAdapter]:
        made = rig.connect()
        yield made
        await made.close()

    @pytest.fixture
    def chat(self, rig: PlatformRig, adapter: PlatformAdapter) -> Place:
        """The first chat the rig has."""
        return adapter.home(next(iter(rig.chats.values())))

    # who it is
    def test_says_what_the_gateway_has_to_know(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        check_lacks(rig.lacks)
        assert re.fullmatch(r"[a-z][a-z0-9_]*", adapter.info.name)
        assert adapter.info.label
        assert adapter.info.max_chars >= 50
        assert set(rig.threads) <= set(rig.chats)

    def test_names_its_account_without_giving_the_secret_away(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        assert adapter.account
        assert adapter.account == rig.connect().account
        assert not rig.secret or rig.secret not in adapter.account

    # hearing
    async def test_hears_what_a_person_writes(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        async with listening(rig, adapter) as ear:
            id = await rig.write(chat, "Good morning, Sojourn", rig.people[0])
            heard = await ear.hear()
        assert (heard.id, heard.sender.id, heard.sender.is_bot) == (id, rig.people[0].id, False)
        assert heard.text == "Good morning, Sojourn"
        assert heard.place.platform == adapter.info.name
        assert heard.mentioned
        assert heard.at == 0 or abs(heard.at - time.time()) < 3600

    async def test_hears_each_message_once_and_in_order(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place
    ) -> None:
        async with listening(rig, adapter) as ear:
            written = [await rig.write(chat, f"number {n}", rig.people[0]) for n in range(5)]
            heard = [await ear.hear() for _ in written]
            await ear.hears_nothing()
        assert [one.id for one in heard] == written
        assert [one.text for one in heard] == [f"number {n}" for n in range(5)]

    async def test_acknowledges_only_what_is_safely_kept(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place
    ) -> None:
        """Whoever dies between hearing and keeping has lost nothing: the next listener is told again."""
        need(rig, "told again")
        async with listening(rig, adapter) as ear:
            await rig.write(chat, "kept", rig.people[0])
            await ear.hear()
            await ear.hears_nothing()  # listening on says that the first is kept
            await rig.write(chat, "not kept", rig.people[0])
            lost = await ear.hear()  # … and this one never is
        await adapter.close()
        another = rig.connect()
        async with listening(rig, another) as ear:
            again = await ear.hear()
            assert (again.id, again.text) == (lost.id, "not kept")
            await ear.hears_nothing()
        await another.close()

    async def test_leaves_out_its_own_messages(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        need(rig, "own messages")
        async with listening(rig, adapter) as ear:
            await adapter.send(chat, "my own words")
            await rig.write(chat, "a person's words", rig.people[0])
            assert (await ear.hear()).text == "a person's words"

    async def test_leaves_out_other_bots(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        need(rig, "other bots")
        robot = type(rig.people[0])(id=rig.people[1].id + "7", name="robot", is_bot=True)
        async with listening(rig, adapter) as ear:
            await rig.write(chat, "beep", robot)
            await rig.write(chat, "a person's words", rig.people[0])
            assert (await ear.hear()).text == "a person's words"

    async def test_hears_files(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        need(rig, "files in")
        async with listening(rig, adapter) as ear:
            await rig.write(chat, "look", rig.people[0], files=[PICTURE])
            [file] = (await ear.hear()).files
        assert (file.data, file.media_type) == (PICTURE.data, PICTURE.media_type)

    async def test_a_lost_line_is_said_and_listening_again_works(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(rig, "a lost line")
        async with listening(rig, adapter) as ear:
            await rig.write(chat, "before", rig.people[0])
            await ear.hear()
            ear.open()
            await rig.cut()
            with pytest.raises(PlatformDown):
                await ear.hear()
        async with listening(rig, adapter) as ear:
            await rig.write(chat, "after", rig.people[0])
            heard = await ear.hear()
            while heard.text == "before":  # what was heard last may be told again; the gateway knows it by its id
                heard = await ear.hear()
        assert heard.text == "after"

    async def test_a_wrong_key_is_said(self, rig: PlatformRig) -> None:
        need(rig, "a wrong key")
        wrong = rig.connect_wrongly()
        ear = Ear(wrong)
        with pytest.raises(KeyRefused) as refused:
            await ear.hear()
        assert refused.value.hint
        assert not rig.secret or rig.secret not in str(refused.value)
        await ear.close()
        await wrong.close()

    async def test_closing_is_quick(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        async with listening(rig, adapter):
            pass
        began = time.monotonic()
        await adapter.close()
        await adapter.close()  # once more does no harm
        assert time.monotonic() - began < 3

    # sending
    async def test_answers_in_place(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        heard = await hear_one(rig, adapter, chat, "Where are you?")
        sent = await adapter.send(heard.place, "Here I am", reply_to=heard.id)
        assert sent.id
        assert sent.place == heard.place
        [answer] = ours(await rig.shown(chat), rig)
        assert "Here I am" in answer.text
        assert answer.id == sent.id

    async def test_plain_text_arrives_as_it_is(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        words = "a*b_c `d` <e> & [f](g) # h"
        await adapter.send(chat, words, plain=True)
        [shown] = ours(await rig.shown(chat), rig)
        assert words in shown.text

    async def test_as_much_as_fits_is_sent(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        assert (await adapter.send(chat, a_text(adapter), plain=True)).id

    async def test_what_is_too_long_is_refused(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        need(rig, "too long")
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, a_text(adapter, longer=50), plain=True)
        assert refused.value.kind == "too_long"

    async def test_bad_formatting_is_told_apart(self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place) -> None:
        need(rig, "bad format")
        await rig.refuse("bad_format")
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "some *broken markup")
        assert refused.value.kind == "bad_format"
        assert (await adapter.send(chat, "some *broken markup", plain=True)).id

    async def test_a_rate_limit_says_how_long_to_wait(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(rig, "rate limit")
        await rig.refuse("rate_limited", retry_after=7)
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "too much")
        assert (refused.value.kind, refused.value.retry_after) == ("rate_limited", 7)
        assert (await adapter.send(chat, "later it works")).id

    @pytest.mark.parametrize(("trial", "kind"), [("forbidden", "forbidden"), ("not found", "not_found")])
    async def test_a_closed_door_is_told_apart(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place, trial: Trial, kind: str
    ) -> None:
        need(rig, trial)
        await rig.refuse(kind)  # type: ignore[arg-type]
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "let me in")
        assert refused.value.kind == kind

    async def test_a_dead_line_while_sending_is_platform_down(
        self, rig: PlatformRig, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(rig, "no line at all")
        await rig.break_sending()
        with pytest.raises(PlatformDown):
            await adapter.send(chat, "anybody there?")

    # places
    async def test_a_home_has_the_key_of_what_is_written_there(
        self, rig: PlatformRig, adapter: PlatformAdapter
    ) -> None:
        async with listening(rig, adapter) as ear:
            for kind, words in rig.chats.items():
                place = adapter.home(words)
                await rig.write(place, f"in a {kind}", rig.people[0])
                heard = await ear.hear()
                assert place.kind == heard.place.kind == kind
                assert build_session_key(place, rig.people[0]) == key(heard)

    def test_words_that_name_no_chat_are_refused(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        need(rig, "a bad name")
        with pytest.raises(BadInput):
            adapter.home("")

    async def test_a_handoff_thread_has_the_key_of_the_next_message_there(
        self, rig: PlatformRig, adapter: PlatformAdapter
    ) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        async with listening(rig, adapter) as ear:
            for kind in rig.threads:
                thread = await adapter.create_handoff_thread(adapter.home(rig.chats[kind]), f"Sojourn — from a {kind}")
                await adapter.send(thread, "I am here now")
                await rig.write(thread, "and so am I", rig.people[0])
                heard = await ear.hear()
                assert build_session_key(thread, rig.people[0]) == key(heard), kind
                assert thread.kind == heard.place.kind, kind
                assert thread.kind == "thread" or kind == thread.kind == "dm", "only private chats keep theirs private"
                assert build_session_key(thread) == key(heard), f"{kind}: people in a thread share its session"
                assert [one.text for one in ours(await rig.shown(thread), rig)][-1:] == ["I am here now"]

    async def test_two_handoff_threads_are_two_places(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        for kind in rig.threads:
            home = adapter.home(rig.chats[kind])
            made = [await adapter.create_handoff_thread(home, "the same name") for _ in range(2)]
            assert len({build_session_key(one) for one in (home, *made)}) == 3

    async def test_where_no_thread_can_be_opened_it_says_why(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        without = [words for kind, words in rig.chats.items() if kind not in rig.threads]
        if not without:
            pytest.skip("every chat of this network can have threads")
        for words in without:
            with pytest.raises(ThreadsUnsupported) as refused:
                await adapter.create_handoff_thread(adapter.home(words), "a thread")
            assert str(refused.value)

    async def test_people_in_one_thread_share_its_key(self, rig: PlatformRig, adapter: PlatformAdapter) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        shared = [kind for kind in rig.threads if kind != "dm"]
        if not shared:
            pytest.skip("threads are only in private chats here")
        thread = await adapter.create_handoff_thread(adapter.home(rig.chats[shared[0]]), "for both")
        async with listening(rig, adapter) as ear:
            for person in rig.people:
                await rig.write(thread, "hello", person)
            first, second = await ear.hear(), await ear.hear()
        assert first.sender.id != second.sender.id
        assert key(first) == key(second)
