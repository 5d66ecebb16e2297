"""Contract: bulk reads of a store, for scanners in other processes."""

from __future__ import annotations

import json
import pickle
from contextlib import closing
from dataclasses import replace
from typing import Any

from sojourn.core.events import Metadata
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import SessionId
from sojourn.ports.history import HasChangeFeed, HasToolExchanges, History, HistoryChanges, SessionFacts
from sojourn.ports.store import Store
from sojourn.testing.store_steps import (
    GUEST,
    NOBODY,
    begin,
    call_message,
    hold_lease,
    ingest,
    make_transcript,
    read_table,
    say,
    tool_message,
)


def open_history(store: Store) -> closing[History]:
    """Opens the history of a store; the context manager closes it."""
    return closing(store.history())


def active_rows(store: Store, session: str) -> list[tuple[Any, ...]]:
    """Returns the active messages of a session without their row ids."""
    with open_history(store) as history:
        [(named, found)] = list(history.messages([session]))
    assert named == session
    return [row[1:] for row in found]


def read_facts(store: Store) -> list[SessionFacts]:
    with open_history(store) as history:
        return history.sessions()


def _follow(known: dict[str, SessionFacts], told: HistoryChanges | None, named: set[str], store: Store) -> None:
    """Applies changes to a copy of the facts, and compares it with a full list."""
    assert told is not None
    assert {facts.id for facts in told.facts} == named
    known.update((facts.id, facts) for facts in told.facts)
    for session in told.gone:
        del known[session]
    assert sorted(known.values(), key=lambda facts: facts.order) == read_facts(store)


class HistoryContract:
    """Synchronous, picklable and read-only; covers all principals and archived sessions."""

    async def test_sessions_come_newest_start_first_and_ties_as_they_were_added(self, store: Store) -> None:
        starts = {"d": 100.0, "b": 300.0, "c": 200.0, "a": 200.0, "e": 200.0}
        await ingest(store, *(make_transcript(id, started_at=at) for id, at in starts.items()))
        later = await store.get(SessionId("c"))
        await store.change(later, replace(later, pinned=True))
        assert [facts.id for facts in read_facts(store)] == ["b", "c", "a", "e", "d"]

    async def test_facts_tell_what_a_session_is_and_whether_it_changed(self, store: Store) -> None:
        one = make_transcript(
            "abc",
            "a",
            replace(user("undone"), active=False),
            replace(assistant("late"), timestamp=5000.0),
            "b",
            title="Garden",
            model="m-1",
            source="telegram",
            started_at=900.0,
            archived=1,
            rewind_count=2,
        )
        await ingest(store, one)
        [facts] = read_facts(store)
        assert (facts.id, facts.title, facts.model, facts.source) == ("abc", "Garden", "m-1", "telegram")
        assert (facts.started_at, facts.last_active, bool(facts.archived), facts.rewinds) == (900.0, 5000.0, True, 2)
        assert (facts.rows, facts.active_rows) == (4, 3)
        assert facts.last_row == max(row["id"] for row in await read_table(store, "messages"))

    async def test_an_empty_session_has_facts_too(self, store: Store) -> None:
        made = await store.create(principal=GUEST)
        [facts] = read_facts(store)
        assert (facts.rows, facts.active_rows, facts.last_row, facts.last_active) == (0, 0, 0, made.started_at)
        assert active_rows(store, made.id) == []

    async def test_messages_are_the_live_rows_in_order_as_bytes(self, store: Store) -> None:
        parts = json.dumps([{"type": "text", "text": "ü"}], ensure_ascii=False)
        call = call_message("terminal", '{"a": 1}', text="später")
        session = await begin(
            store,
            "one",
            Message(role="user", content=parts, structured=True),
            call,
            tool_message("terminal", "ok"),
            "six",
        )
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [1], active=False, compacted=True)
            await store.set_flags(lease, [5], active=False, compacted=False)
        assert active_rows(store, session) == [
            (b"user", parts.encode(), True, None, None),
            (b"assistant", "später".encode(), False, (call.tool_calls or "").encode(), None),
            (b"tool", b"ok", False, None, b"terminal"),
        ]

    async def test_each_row_has_its_number_in_the_log(self, store: Store) -> None:
        await begin(store, "somewhere else")
        session = await begin(store, "one", Metadata(), "two")
        with open_history(store) as history:
            [(_, rows)] = list(history.messages([session]))
            assert history.find_seqs([row[0] for row in rows]) == {rows[0][0]: 1, rows[1][0]: 3}  # type: ignore[attr-defined]

    async def test_exchanges_tell_which_answer_belongs_to_which_call(self, store: Store) -> None:
        call = assistant("I look.", [ToolCall(id="c1", name="terminal", arguments="{}")])
        answer = replace(tool_result(ToolCall(id="c1", name="terminal"), "nul \x00"), effect_disposition="none")
        undone = replace(user("undone"), active=False)
        session = await begin(store, "go", call, answer, assistant("only words"), undone, user("thanks", by="Ada"))
        with open_history(store) as history:
            assert isinstance(history, HasToolExchanges)
            [(named, found)] = list(history.exchanges([session]))
        assert named == session
        assert [row[1:] for row in found] == [
            (b"user", b"go", False, None, None, None, None, None),
            (b"assistant", None, False, (call.tool_calls or "").encode(), None, None, None, None),
            (b"tool", b"nul \x00", False, None, b"terminal", b"c1", b"none", None),
            (b"user", b"thanks", False, None, None, None, None, b'{"by": "Ada"}'),
        ]

    async def test_facts_say_whose_a_session_is(self, store: Store) -> None:
        await store.create(principal=GUEST)
        await store.create()
        assert {facts.principal for facts in read_facts(store)} == {"owner", GUEST}

    async def test_messages_come_session_by_session_as_asked(self, store: Store) -> None:
        one, other = await begin(store, "a"), await begin(store, "b", "c")
        with open_history(store) as history:
            found = list(history.messages([other, one, other]))
        assert [(session, [row[2] for row in rows]) for session, rows in found] == [
            (other, [b"b", b"c"]),
            (one, [b"a"]),
            (other, [b"b", b"c"]),
        ]

    async def test_odd_characters_come_back_as_the_bytes_they_were(self, store: Store) -> None:
        session = await begin(store, "nul \x00 and \x1a", b"bad \xff byte".decode("utf-8", "surrogateescape"))
        assert [row[1] for row in active_rows(store, session)] == [b"nul \x00 and \x1a", b"bad \xff byte"]

    async def test_previews_are_the_opening_words_of_a_person(self, store: Store) -> None:
        one = await begin(store, assistant("Welcome"), "Plan\nthe garden", "and more")
        long, none = await begin(store, "word " * 50), await begin(store, assistant("alone"))
        parts = await begin(store, Message(role="user", content='[{"type": "text", "text": "x"}]', structured=True))
        with open_history(store) as history:
            found = history.previews([one, long, none, parts])
        assert found[one] == "Plan the garden"
        assert found[long] == ("word " * 12).strip() + "..." or found[long] == ("word " * 12) + "..."
        assert none not in found
        assert found[parts] == ""

    async def test_a_history_can_be_sent_to_another_process(self, store: Store) -> None:
        session = await begin(store, "a", "b")
        with open_history(store) as here, closing(pickle.loads(pickle.dumps(here))) as there:
            assert there.sessions() == here.sessions()
            assert list(there.messages([session])) == list(here.messages([session]))

    async def test_a_closed_history_opens_again_when_used(self, store: Store) -> None:
        history = store.history()
        await begin(store, "a")
        assert len(history.sessions()) == 1
        history.close()
        assert len(history.sessions()) == 1
        history.close()

    async def test_a_history_sees_what_is_kept_later_and_its_mark_moves(self, store: Store) -> None:
        session = await begin(store, "a")
        with open_history(store) as history:
            assert [len(found) for _, found in history.messages([session])] == [1]
            before = history.fingerprint()
            assert history.fingerprint() == before
            await say(store, session, "b")
            assert [len(found) for _, found in history.messages([session])] == [2]
            assert before is None or history.fingerprint() != before

    async def test_a_history_that_is_kept_open_tells_the_same_as_a_new_one(self, store: Store) -> None:
        session, other = await begin(store, "a", "b"), await begin(store, "c")
        with open_history(store) as kept:
            assert kept.sessions() == read_facts(store)
            await say(store, session, "more")
            assert kept.sessions() == read_facts(store)
            async with hold_lease(store, session) as lease:
                await store.set_flags(lease, [2], active=False, compacted=False)
            assert kept.sessions() == read_facts(store)
            await ingest(store, make_transcript("abc", "x"))
            await ingest(store, make_transcript("abc", "x", "y"), mark="2")
            assert kept.sessions() == read_facts(store)
            await store.delete(other)
            await store.change(found := await store.get(session), replace(found, title="Garden", archived=True))
            await store.forget(SessionId("abc"))
            await store.create()
            assert kept.sessions() == read_facts(store)

    async def test_changes_tell_what_is_different_and_nothing_else(self, store: Store) -> None:
        session, other = await begin(store, "a", "b"), await begin(store, "c")
        with open_history(store) as kept:
            if not isinstance(kept, HasChangeFeed):
                return
            known = {facts.id: facts for facts in kept.sessions()}
            assert kept.changes() == HistoryChanges(())
            await say(store, session, "more")
            made = await store.create()
            _follow(known, kept.changes(), {session, made.id}, store)
            async with hold_lease(store, session) as lease:
                await store.set_flags(lease, [2], active=False, compacted=False)
            _follow(known, kept.changes(), {session}, store)
            await store.change(found := await store.get(other), replace(found, title="Garden", archived=True))
            _follow(known, kept.changes(), {other}, store)
            await store.delete(other)
            _follow(known, kept.changes(), set(), store)
            await store.forget(made.id)  # of which no trace is left, not even that it was there
            assert kept.changes() in (None, HistoryChanges((), (made.id,)))
            await say(store, session, "and more")
            assert kept.sessions() == read_facts(store)
            assert kept.changes() == HistoryChanges(())  # what a list has told is no news

    async def test_what_is_not_there_has_no_rows(self, store: Store) -> None:
        await begin(store, "a")
        assert active_rows(store, NOBODY) == []
        with open_history(store) as history:
            assert history.previews([NOBODY]) == {}
