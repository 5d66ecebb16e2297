"""The contract every platform keeps.

    class TestMine(PlatformContract):
        @pytest.fixture
        async def harness(self):
            async with my_network() as network:      # a real server, or one that speaks the real wire on loopback
                yield MyHarness(network)                 # a PlatformHarness, see platform_rig.py

What a network cannot be tried on is declared in the harness's `lacks`, with the reason; those tests are reported as
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
from sojourn.ports.platform import CanIdentify, CanThread, PlatformAdapter
from sojourn.testing.platform_abilities import PlatformAbilitiesContract
from sojourn.testing.platform_harness import PICTURE, InboundListener, PlatformHarness, Trial, check_lacks
from sojourn.testing.platform_steps import a_text, ability, hear_one, key, listening, need, ours


class PlatformContract(PlatformAbilitiesContract):
    """Subclass it and give a `harness`."""

    @pytest.fixture
    async def adapter(self, harness: PlatformHarness) -> AsyncIterator[PlatformAdapter]:
        made = harness.connect()
        yield made
        await made.close()

    @pytest.fixture
    def chat(self, harness: PlatformHarness, adapter: PlatformAdapter) -> Place:
        """The first chat the harness has."""
        return adapter.home(next(iter(harness.chats.values())))

    # who it is
    def test_says_what_the_gateway_has_to_know(self, harness: PlatformHarness, adapter: PlatformAdapter) -> None:
        check_lacks(harness.lacks)
        assert re.fullmatch(r"[a-z][a-z0-9_]*", adapter.info.name)
        assert adapter.info.label
        assert adapter.info.max_chars >= 50
        assert set(harness.threads) <= set(harness.chats)

    def test_names_its_account_without_giving_the_secret_away(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        assert adapter.account
        assert adapter.account == harness.connect().account
        assert not harness.secret or harness.secret not in adapter.account

    # hearing
    async def test_hears_what_a_person_writes(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        async with listening(harness, adapter) as ear:
            id = await harness.write(chat, "Good morning, Sojourn", harness.people[0])
            heard = await ear.hear()
        assert (heard.id, heard.sender.id, heard.sender.is_bot) == (id, harness.people[0].id, False)
        assert heard.text == "Good morning, Sojourn"
        assert heard.place.platform == adapter.info.name
        assert heard.mentioned
        assert heard.at == 0 or abs(heard.at - time.time()) < 3600

    async def test_hears_each_message_once_and_in_order(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        async with listening(harness, adapter) as ear:
            written = [await harness.write(chat, f"number {n}", harness.people[0]) for n in range(5)]
            heard = [await ear.hear() for _ in written]
            await ear.hears_nothing()
        assert [one.id for one in heard] == written
        assert [one.text for one in heard] == [f"number {n}" for n in range(5)]

    async def test_acknowledges_only_what_is_safely_kept(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        """Whoever dies between hearing and keeping has lost nothing: the next listener is told again."""
        need(harness, "told again")
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "kept", harness.people[0])
            await ear.hear()
            await ear.hears_nothing()  # listening on says that the first is kept
            await harness.write(chat, "not kept", harness.people[0])
            lost = await ear.hear()  # … and this one never is
        await adapter.close()
        another = harness.connect()
        async with listening(harness, another) as ear:
            again = await ear.hear()
            assert (again.id, again.text) == (lost.id, "not kept")
            await ear.hears_nothing()
        await another.close()

    async def test_leaves_out_its_own_messages(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "own messages")
        async with listening(harness, adapter) as ear:
            await adapter.send(chat, "my own words")
            await harness.write(chat, "a person's words", harness.people[0])
            assert (await ear.hear()).text == "a person's words"

    async def test_leaves_out_other_bots(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        need(harness, "other bots")
        robot = type(harness.people[0])(id=harness.people[1].id + "7", name="robot", is_bot=True)
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "beep", robot)
            await harness.write(chat, "a person's words", harness.people[0])
            assert (await ear.hear()).text == "a person's words"

    async def test_two_people_are_two_senders_whatever_they_call_themselves(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        need(harness, "two people")
        first, second = harness.people
        place = adapter.home(harness.chats.get("group") or next(iter(harness.chats.values())))
        async with listening(harness, adapter) as ear:
            heard = []
            for person in (first, type(second)(id=second.id, name=first.name), first):
                await harness.write(place, "it is me", person)
                heard.append((await ear.hear()).sender.id)
        assert heard == [first.id, second.id, first.id]
        assert len({one.casefold() for one in heard}) == 2

    async def test_hears_files(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        need(harness, "files in")
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "look", harness.people[0], files=[PICTURE])
            [file] = (await ear.hear()).files
        assert (file.data, file.media_type) == (PICTURE.data, PICTURE.media_type)

    async def test_a_lost_line_is_said_and_listening_again_works(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "a lost line")
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "before", harness.people[0])
            await ear.hear()
            ear.open()
            await harness.drop_connections()
            with pytest.raises(PlatformDown):
                await ear.hear()
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "after", harness.people[0])
            heard = await ear.hear()
            while heard.text == "before":  # what was heard last may be told again; the gateway knows it by its id
                heard = await ear.hear()
        assert heard.text == "after"

    async def test_a_wrong_key_is_said(self, harness: PlatformHarness) -> None:
        need(harness, "a wrong key")
        wrong = harness.connect_wrongly()
        ear = InboundListener(wrong)
        with pytest.raises(KeyRefused) as refused:
            await ear.hear()
        assert refused.value.hint
        assert not harness.secret or harness.secret not in str(refused.value)
        await ear.close()
        await wrong.close()

    async def test_a_profile_says_whom_the_credential_belongs_to(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        if not isinstance(adapter, CanIdentify):
            pytest.skip("this network cannot say whom a credential belongs to")
        profile = await adapter.identify()
        assert profile.name
        assert not harness.secret or harness.secret not in repr(profile)
        if "a wrong key" not in harness.lacks:
            wrong = harness.connect_wrongly()
            assert isinstance(wrong, CanIdentify)
            with pytest.raises(KeyRefused):
                await wrong.identify()
            await wrong.close()

    async def test_closing_is_quick(self, harness: PlatformHarness, adapter: PlatformAdapter) -> None:
        async with listening(harness, adapter):
            pass
        began = time.monotonic()
        await adapter.close()
        await adapter.close()  # once more does no harm
        assert time.monotonic() - began < 3

    # sending
    async def test_answers_in_place(self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place) -> None:
        heard = await hear_one(harness, adapter, chat, "Where are you?")
        sent = await adapter.send(heard.place, "Here I am", reply_to=heard.id)
        assert sent.id
        assert sent.place == heard.place
        [answer] = ours(await harness.read_messages(chat), harness)
        assert "Here I am" in answer.text
        assert answer.id == sent.id

    async def test_plain_text_arrives_as_it_is(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        words = "a*b_c `d` <e> & [f](g) # h"
        await adapter.send(chat, words, plain=True)
        [shown] = ours(await harness.read_messages(chat), harness)
        assert words in shown.text

    async def test_as_much_as_fits_is_sent(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        assert (await adapter.send(chat, a_text(adapter), plain=True)).id

    async def test_what_is_too_long_is_refused(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "too long")
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, a_text(adapter, longer=50), plain=True)
        assert refused.value.kind == "too_long"

    async def test_bad_formatting_is_told_apart(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "bad format")
        await harness.refuse("bad_format")
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "some *broken markup")
        assert refused.value.kind == "bad_format"
        assert (await adapter.send(chat, "some *broken markup", plain=True)).id

    async def test_a_rate_limit_says_how_long_to_wait(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "rate limit")
        await harness.refuse("rate_limited", retry_after=7)
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "too much")
        assert (refused.value.kind, refused.value.retry_after) == ("rate_limited", 7)
        assert (await adapter.send(chat, "later it works")).id

    @pytest.mark.parametrize(("trial", "kind"), [("forbidden", "forbidden"), ("not found", "not_found")])
    async def test_a_closed_door_is_told_apart(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place, trial: Trial, kind: str
    ) -> None:
        need(harness, trial)
        await harness.refuse(kind)  # type: ignore[arg-type]
        with pytest.raises(SendRefused) as refused:
            await adapter.send(chat, "let me in")
        assert refused.value.kind == kind

    async def test_a_dead_line_while_sending_is_platform_down(
        self, harness: PlatformHarness, adapter: PlatformAdapter, chat: Place
    ) -> None:
        need(harness, "no line at all")
        await harness.break_sending()
        with pytest.raises(PlatformDown):
            await adapter.send(chat, "anybody there?")

    # places
    async def test_a_home_has_the_key_of_what_is_written_there(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        async with listening(harness, adapter) as ear:
            for kind, words in harness.chats.items():
                place = adapter.home(words)
                await harness.write(place, f"in a {kind}", harness.people[0])
                heard = await ear.hear()
                assert place.kind == heard.place.kind == kind
                assert build_session_key(place, harness.people[0]) == key(heard)

    def test_words_that_name_no_chat_are_refused(self, harness: PlatformHarness, adapter: PlatformAdapter) -> None:
        need(harness, "a bad name")
        with pytest.raises(BadInput):
            adapter.home("")

    async def test_a_handoff_thread_has_the_key_of_the_next_message_there(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        async with listening(harness, adapter) as ear:
            for kind in harness.threads:
                thread = await adapter.create_handoff_thread(
                    adapter.home(harness.chats[kind]), f"Sojourn — from a {kind}"
                )
                await adapter.send(thread, "I am here now")
                await harness.write(thread, "and so am I", harness.people[0])
                heard = await ear.hear()
                assert build_session_key(thread, harness.people[0]) == key(heard), kind
                assert thread.kind == heard.place.kind, kind
                assert thread.kind == "thread" or kind == thread.kind == "dm", "only private chats keep theirs private"
                assert build_session_key(thread) == key(heard), f"{kind}: people in a thread share its session"
                assert [one.text for one in ours(await harness.read_messages(thread), harness)][-1:] == [
                    "I am here now"
                ]

    async def test_two_handoff_threads_are_two_places(self, harness: PlatformHarness, adapter: PlatformAdapter) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        for kind in harness.threads:
            home = adapter.home(harness.chats[kind])
            made = [await adapter.create_handoff_thread(home, "the same name") for _ in range(2)]
            assert len({build_session_key(one) for one in (home, *made)}) == 3

    async def test_where_no_thread_can_be_opened_it_says_why(
        self, harness: PlatformHarness, adapter: PlatformAdapter
    ) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        without = [words for kind, words in harness.chats.items() if kind not in harness.threads]
        if not without:
            pytest.skip("every chat of this network can have threads")
        for words in without:
            with pytest.raises(ThreadsUnsupported) as refused:
                await adapter.create_handoff_thread(adapter.home(words), "a thread")
            assert str(refused.value)

    async def test_people_in_one_thread_share_its_key(self, harness: PlatformHarness, adapter: PlatformAdapter) -> None:
        ability(adapter, CanThread)
        assert isinstance(adapter, CanThread)
        shared = [kind for kind in harness.threads if kind != "dm"]
        if not shared:
            pytest.skip("threads are only in private chats here")
        thread = await adapter.create_handoff_thread(adapter.home(harness.chats[shared[0]]), "for both")
        async with listening(harness, adapter) as ear:
            for person in harness.people:
                await harness.write(thread, "hello", person)
            first, second = await ear.hear(), await ear.hear()
        assert first.sender.id != second.sender.id
        assert key(first) == key(second)
