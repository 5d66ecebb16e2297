"""Contract: the numbered log keeps every item in order."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import fields, replace
from typing import Any

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.events import Chunk, Done, Event, Failed, Metadata, Progress, Yielded
from sojourn.core.messages import Message, assistant, user
from sojourn.core.sessions import TurnId
from sojourn.ports.store import Store
from sojourn.testing.store_steps import (
    NOBODY,
    ODD,
    begin,
    call_message,
    collect,
    find_hits,
    hold_lease,
    read_contents,
    read_table,
    say,
    tool_message,
)

EVENTS: tuple[Event, ...] = (
    Metadata("s", "t_1", "echo", detail={"run": 1}),
    Progress("tool", {"name": "terminal", "arguments": {"cmd": ["ls", None, 1.5, True]}}),
    Chunk("Hel"),
    Failed("session_busy", "It broke.", "Try again.", retryable=True),
    Done("failed", {"input_tokens": 3}, ("s:1", "s:2")),
)


class LogContract:
    """Items are stored before anyone sees them, and numbered 1, 2, 3 … without gaps."""

    # numbers
    async def test_items_are_numbered_from_one_without_gap(self, store: Store) -> None:
        session = await begin(store)
        first, second = await say(store, session, "a", "b"), await say(store, session, "c")
        assert [kept.seq for kept in (*first, *second)] == [1, 2, 3]
        assert [kept.public_id for kept in second] == [f"{session}:3"]
        assert (await store.get(session)).last_seq == 3

    async def test_the_log_is_read_backwards_from_any_number(self, store: Store) -> None:
        session = await begin(store, "hi", Metadata(), assistant("Hello"), Done(), *(f"line {n}" for n in range(600)))
        seqs = [kept.seq for kept in await collect(store.read(session, before=10**9))]
        assert seqs == list(range(604, 0, -1))
        assert [kept.seq for kept in await collect(store.read(session, after=2, before=5))] == [4, 3]
        below = await collect(store.read(session, before=5, messages_only=True))
        assert [(kept.seq, type(kept.item).__name__) for kept in below] == [(3, "Message"), (1, "Message")]
        with pytest.raises(NotFound):
            await collect(store.read(NOBODY, before=5))

    async def test_messages_and_events_share_one_numbering(self, store: Store) -> None:
        session = await begin(store, "hi", Metadata(), Chunk("Hel"), assistant("Hello"), Done())
        kept = await collect(store.read(session))
        assert [(item.seq, type(item.item).__name__) for item in kept] == [
            (1, "Message"),
            (2, "Metadata"),
            (3, "Chunk"),
            (4, "Message"),
            (5, "Done"),
        ]

    async def test_what_append_returns_is_what_is_read(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            kept = await store.append(lease, [user("hi"), Chunk("Hel"), assistant("Hello")], turn=TurnId("t_1"))
        assert await collect(store.read(session)) == kept
        assert {item.session for item in kept} == {session}

    async def test_every_session_has_numbers_of_its_own(self, store: Store) -> None:
        one, other = await begin(store, "a", "b"), await begin(store, "c")
        assert [kept.seq async for kept in store.read(one)] == [1, 2]
        assert [kept.seq async for kept in store.read(other)] == [1]

    async def test_appends_at_once_get_numbers_without_gap_or_repeat(self, store: Store, again: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            both = [one.append(lease, [user(f"{n}"), Chunk(f"{n}")]) for n in range(10) for one in (store, again)]
            done = await asyncio.gather(*both)
        assert sorted(kept.seq for batch in done for kept in batch) == list(range(1, 41))
        assert all(batch[1].seq == batch[0].seq + 1 for batch in done)
        assert [kept.seq async for kept in store.read(session)] == list(range(1, 41))

    async def test_adding_nothing_takes_no_number(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            assert await store.append(lease, []) == []
        assert [kept.seq for kept in await say(store, session, "a")] == [1]

    async def test_a_batch_that_cannot_be_kept_leaves_nothing_behind(self, store: Store) -> None:
        session = await begin(store, "a")
        async with hold_lease(store, session) as lease:
            with pytest.raises(TypeError):
                await store.append(lease, [user("b"), Progress("tool", {"not": object()})])
        assert [kept.seq for kept in await say(store, session, "c")] == [2]
        assert await read_contents(store, session) == ["a", "c"]
        assert (await store.get(session)).message_count == 2

    async def test_a_cancelled_append_leaves_the_store_working(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            for _ in range(5):
                gone = asyncio.ensure_future(store.append(lease, [user("gone")]))
                await asyncio.sleep(0)
                gone.cancel()
                await asyncio.gather(gone, return_exceptions=True)
            async with asyncio.timeout(10):
                await store.append(lease, [user("here")])
        kept = await collect(store.read(session))
        assert [item.seq for item in kept] == list(range(1, len(kept) + 1))
        assert "here" in await read_contents(store, session)

    async def test_order_is_the_number_and_never_the_clock(self, store: Store) -> None:
        items = [replace(user(f"at {at}"), timestamp=float(at)) for at in (300, 100, 200)]
        session = await begin(store, *items)
        assert await read_contents(store, session) == ["at 300", "at 100", "at 200"]

    async def test_a_time_is_kept_and_a_missing_one_is_the_moment_of_keeping(self, store: Store) -> None:
        before = time.time()
        session = await begin(store, replace(user("old"), timestamp=1234.5678), "new", Chunk("x"))
        old, new, event = await collect(store.read(session))
        assert old.at == 1234.5678
        assert isinstance(old.item, Message)
        assert old.item.timestamp == 1234.5678
        assert before - 5 < new.at < time.time() + 5
        assert before - 5 < event.at < time.time() + 5

    # reading
    async def test_reading_goes_on_after_a_number(self, store: Store) -> None:
        session = await begin(store, "a", Chunk("b"), "c", "d")
        assert [kept.seq async for kept in store.read(session, after=2)] == [3, 4]
        assert await collect(store.read(session, after=4)) == []
        assert await collect(store.read(session, after=99)) == []

    async def test_reading_messages_only_leaves_out_events(self, store: Store) -> None:
        session = await begin(store, "a", Chunk("b"), "c", Done())
        assert [kept.seq async for kept in store.read(session, messages_only=True)] == [1, 3]
        assert [kept.seq async for kept in store.read(session, after=1, messages_only=True)] == [3]

    async def test_a_long_log_is_read_whole_and_in_order(self, store: Store) -> None:
        items: list[Yielded] = [Chunk(f"{n}") if n % 3 else user(f"{n}") for n in range(1, 1251)]
        session = await begin(store, *items)
        assert [kept.seq async for kept in store.read(session)] == list(range(1, 1251))
        assert [kept.seq async for kept in store.read(session, messages_only=True)] == list(range(3, 1251, 3))
        assert [kept.seq async for kept in store.read(session, after=700)] == list(range(701, 1251))

    async def test_five_hundred_events_do_not_hide_the_messages_after_them(self, store: Store) -> None:
        session = await begin(store, *(Chunk("x") for _ in range(1100)), "at last")
        assert [kept.seq async for kept in store.read(session)][-1] == 1101

    async def test_an_unknown_session_cannot_be_read(self, store: Store) -> None:
        for after in (0, 5):
            with pytest.raises(NotFound):
                await collect(store.read(NOBODY, after=after))

    async def test_an_empty_session_reads_as_nothing(self, store: Store) -> None:
        assert await collect(store.read(await begin(store))) == []

    # what is kept
    @pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
    async def test_every_event_comes_back_as_it_was(self, store: Store, event: Event) -> None:
        session = await begin(store, event)
        assert [kept.item async for kept in store.read(session)] == [event]

    async def test_every_field_of_a_message_comes_back_as_it_was(self, store: Store) -> None:
        kinds: dict[str, Any] = {"str": "text", "bool": True, "int": 7, "float": 12.25}
        values = {field.name: kinds[str(field.type).split(" |")[0]] for field in fields(Message)}
        message = Message(**{**values, "role": "assistant", "content": '["a"]', "turn_id": "t_own", "compacted": False})
        session = await begin(store, message)
        assert [kept.item async for kept in store.read(session)] == [message]

    async def test_odd_characters_come_back_from_messages_and_events(self, store: Store) -> None:
        message = replace(
            call_message(ODD, json.dumps({"text": ODD}), text=ODD),
            reasoning=ODD,
            native_id=ODD,
            extra=ODD,
            tool_name=ODD,
        )
        items: list[Yielded] = [message, Chunk(ODD), Progress("tool", {ODD: [ODD]}), tool_message(ODD, ODD)]
        session = await begin(store, *items)
        kept = [item.item async for item in store.read(session)]
        assert [replace(item, timestamp=0.0) if isinstance(item, Message) else item for item in kept] == items

    async def test_an_empty_text_is_not_a_missing_text(self, store: Store) -> None:
        session = await begin(store, Message(role="assistant", content="", reasoning_content=""), assistant(None))
        kept = [item.item async for item in store.read(session)]
        assert [item.content for item in kept if isinstance(item, Message)] == ["", None]
        assert [item.reasoning_content for item in kept if isinstance(item, Message)] == ["", None]

    async def test_a_message_of_five_megabytes_comes_back_whole(self, store: Store) -> None:
        text = "".join(f"line {n} of a long story\n" for n in range(220_000))
        session = await begin(store, text)
        assert len(text) > 5_000_000
        assert await read_contents(store, session) == [text]
        assert await find_hits(store, "story") == [(session, 1)]

    async def test_structured_content_is_kept_as_plain_json(self, store: Store) -> None:
        parts = json.dumps([{"type": "text", "text": "What is this?"}, {"type": "image", "url": "blob:1"}])
        session = await begin(store, Message(role="user", content=parts, structured=True))
        [row] = await read_table(store, "messages")
        assert (row["content"], row["structured"]) == (parts, 1)
        assert (await store.get(session)).preview == "What is this? [image]"

    async def test_json_too_deep_to_read_is_kept_all_the_same(self, store: Store) -> None:
        deep = "[" * 100_000
        session = await begin(
            store, Message(role="assistant", content=deep, structured=True, tool_calls=deep), "findable"
        )
        assert (await read_contents(store, session))[0] == deep
        await store.index()
        assert await find_hits(store, "findable") == [(session, 2)]

    async def test_the_turn_is_kept_with_what_it_wrote(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.append(
                lease, [user("a"), Chunk("b"), Message(role="user", turn_id="t_own")], turn=TurnId("t_1")
            )
        first, event, own = await collect(store.read(session))
        assert isinstance(first.item, Message)
        assert isinstance(own.item, Message)
        assert (first.turn, first.item.turn_id, event.turn, own.item.turn_id) == ("t_1", "t_1", "t_1", "t_own")

    # figures on the session
    async def test_a_session_counts_its_messages_and_tool_calls(self, store: Store) -> None:
        session = await begin(store, "hi", Chunk("x"), call_message("terminal"), tool_message("terminal", "ok"))
        kept = await store.get(session)
        assert (kept.message_count, kept.tool_call_count, kept.last_seq) == (3, 1, 4)
        assert kept.last_active >= kept.started_at

    async def test_the_end_of_a_turn_adds_what_it_used_to_the_session(self, store: Store) -> None:
        session = await begin(store)
        for usage in ({"input_tokens": 7, "output_tokens": 5, "cost_usd": 0.25}, {"input_tokens": 3, "model": "m"}, {}):
            await say(store, session, Done(usage=usage))
        kept = await store.get(session)
        assert (kept.input_tokens, kept.output_tokens, kept.estimated_cost_usd) == (10, 5, 0.25)

    async def test_the_preview_is_how_the_person_began(self, store: Store) -> None:
        session = await begin(store, assistant("Welcome!"), "  ", "Plan\n the   garden, please")
        await say(store, session, "and then the kitchen")
        assert (await store.get(session)).preview == "Plan the garden, please"
        assert len((await store.get(await begin(store, "x" * 500))).preview) == 80

    # undo and summarise
    async def test_flags_undo_summarise_and_restore(self, store: Store) -> None:
        session = await begin(store, "apple", "pear", Chunk("c"), "plum")
        async with hold_lease(store, session) as lease:
            assert await store.set_flags(lease, [1], active=False, compacted=False) == 1
            assert await store.set_flags(lease, [2], active=False, compacted=True) == 1
        kept = [item.item async for item in store.read(session, messages_only=True)]
        flags = [(item.active, item.compacted) for item in kept if isinstance(item, Message)]
        assert flags == [(False, False), (False, True), (True, False)]
        assert [await find_hits(store, word) for word in ("apple", "pear", "plum")] == [
            [],
            [(session, 2)],
            [(session, 4)],
        ]
        async with hold_lease(store, session) as lease:
            assert await store.set_flags(lease, [1, 2], active=True, compacted=False) == 2
        assert await find_hits(store, "apple") == [(session, 1)]

    async def test_flags_count_only_the_rows_they_change(self, store: Store) -> None:
        session, other = await begin(store, "a", Chunk("b"), "c"), await begin(store, "d")
        async with hold_lease(store, session) as lease:
            assert await store.set_flags(lease, [1, 1, 2, 99], active=False, compacted=False) == 1
            assert await store.set_flags(lease, [1], active=False, compacted=False) == 0
            assert await store.set_flags(lease, [], active=False, compacted=False) == 0
        assert await find_hits(store, "d") == [(other, 1)]
        assert (await store.verify()).clean

    async def test_more_than_a_thousand_messages_are_summarised_at_once(self, store: Store) -> None:
        session = await begin(store, *(f"number {n}" for n in range(1200)))
        async with hold_lease(store, session) as lease:
            assert await store.set_flags(lease, list(range(1, 1200)), active=False, compacted=True) == 1199

    async def test_undoing_is_counted_as_a_rewind(self, store: Store) -> None:
        session = await begin(store, "a", "b")
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [2], active=False, compacted=False)
            await store.set_flags(lease, [1], active=False, compacted=True)
        assert (await store.get(session)).details["rewind_count"] == 1

    async def test_what_is_undone_keeps_its_number(self, store: Store) -> None:
        session = await begin(store, "a", "b")
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [2], active=False, compacted=False)
            assert [kept.seq for kept in await store.append(lease, [user("c")])] == [3]

    # the end
    async def test_the_first_to_end_a_session_gives_the_reason(self, store: Store) -> None:
        session = await begin(store, "a")
        async with hold_lease(store, session) as lease:
            ended = await store.end(lease, "user_exit")
            later = await store.end(lease, "timeout")
        assert ended.end_reason == later.end_reason == "user_exit"
        assert ended.ended_at == later.ended_at is not None

    async def test_a_session_that_goes_on_is_open_again(self, store: Store) -> None:
        session = await begin(store, "a")
        async with hold_lease(store, session) as lease:
            await store.end(lease, "user_exit")
        await say(store, session, "one more thing")
        kept = await store.get(session)
        assert (kept.ended_at, kept.end_reason) == (None, None)
