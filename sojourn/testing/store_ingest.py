"""Contract: imports. A foreign session is imported once and completely, and updated without losing anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.core.messages import Message, assistant, user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Listing, Store
from sojourn.testing.store_steps import (
    GUEST,
    ODD,
    begin,
    call_message,
    change_title,
    collect,
    dump,
    find_hits,
    hold_lease,
    ingest,
    make_transcript,
    read_contents,
    read_table,
    say,
    tool_message,
)

HOME = "/home/me/.hermes"
ABC = SessionId("abc")


class IngestContract:
    """Idempotent by source, home, native session id and native message id."""

    # the first time
    async def test_a_session_comes_in_with_its_id_fields_and_messages(self, store: Store) -> None:
        one = make_transcript(
            "abc",
            "hello",
            call_message("terminal"),
            tool_message("terminal", "ok"),
            title="Garden",
            model="m-1",
            cwd="/w",
            started_at=500.0,
            ended_at=2000.0,
            end_reason="done",
            input_tokens=11,
            system_prompt="Be kind.",
            chat_id="c",
            source="telegram",
            archived=1,
        )
        [done] = await ingest(store, one)
        assert (done.native_id, done.session, done.outcome, done.new_messages, done.note) == (
            "abc",
            "abc",
            "imported",
            3,
            "",
        )
        kept = await store.get(ABC)
        assert (kept.title, kept.model, kept.cwd, kept.source, kept.archived) == (
            "Garden",
            "m-1",
            "/w",
            "telegram",
            True,
        )
        assert (kept.started_at, kept.last_active, kept.ended_at, kept.end_reason) == (500.0, 1003.0, 2000.0, "done")
        assert (kept.message_count, kept.tool_call_count, kept.last_seq, kept.preview) == (3, 1, 3, "hello")
        assert {"system_prompt": "Be kind.", "chat_id": "c", "source_home": HOME, "source_id": "abc"}.items() <= (
            kept.details.items()
        )
        assert kept.input_tokens == 11
        assert kept.driver is None

    async def test_messages_are_kept_one_to_one_with_role_and_flags(self, store: Store) -> None:
        messages = [
            Message(role="session_meta"),
            replace(user("undone"), active=False),
            replace(assistant("summed up"), active=False, compacted=True),
            replace(user(ODD), timestamp=3.5, observed=True),
        ]
        await ingest(store, make_transcript("abc", *messages))
        kept = [item.item async for item in store.read(ABC)]
        assert [item.seq async for item in store.read(ABC)] == [1, 2, 3, 4]
        assert kept == list(make_transcript("abc", *messages).messages)

    async def test_the_preview_of_an_import_keeps_odd_characters(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "a\x00b \ud800"))
        await ingest(store, make_transcript("def", assistant("hi")))
        await ingest(store, make_transcript("def", assistant("hi"), "c\x1a0000d"), mark="2")
        assert [(await store.get(SessionId(id))).preview for id in ("abc", "def")] == ["a\x00b \ud800", "c\x1a0000d"]

    async def test_an_imported_session_has_messages_and_no_events(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one", "two"))
        assert (await store.stats()).events == 0
        assert len(await collect(store.read(ABC))) == 2

    async def test_a_session_without_messages_comes_in_too(self, store: Store) -> None:
        [done] = await ingest(store, make_transcript("abc", started_at=77.0))
        assert (done.outcome, (await store.get(ABC)).last_active) == ("imported", 77.0)

    async def test_what_is_not_a_message_is_kept_verbatim(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", records=[("summary", '{"a": 1}'), (ODD, ODD)]))
        kept = [(row["position"], row["kind"], row["data"]) for row in await read_table(store, "source_records")]
        assert kept[0] == (1, "summary", '{"a": 1}')
        assert len(kept) == 2

    async def test_usage_by_model_comes_along(self, store: Store) -> None:
        usage = [{"model": "m-1", "input_tokens": 5, "estimated_cost_usd": 0.25, "task": "vision", "unknown": 1}]
        await ingest(store, make_transcript("abc", usage=usage))
        [row] = await read_table(store, "session_model_usage")
        assert (row["session_id"], row["model"], row["task"], row["input_tokens"]) == ("abc", "m-1", "vision", 5)
        assert (row["estimated_cost_usd"], row["output_tokens"], row["billing_mode"]) == (0.25, 0, "")

    async def test_what_comes_in_is_found_once_it_is_indexed(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "apple", replace(user("apple"), active=False)))
        await store.index()
        assert await find_hits(store, "apple") == [("abc", 1)]

    async def test_indexing_tells_its_progress(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", *(f"word{n}" for n in range(600))))
        told: list[tuple[int, int]] = []
        await store.index(lambda done, of: told.append((done, of)))
        assert all(done <= of for done, of in told)
        assert told == sorted(told)
        assert (await store.stats()).not_indexed == 0

    async def test_parents_are_found_by_the_id_they_have_here(self, store: Store) -> None:
        await begin(store, id=SessionId("parent"))
        await ingest(store, make_transcript("parent", "a"), make_transcript("child", "b", parent_session_id="parent"))
        assert (await store.get(SessionId("child"))).parent_session_id == "hermes-parent"

    async def test_an_imported_session_goes_on_here(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one", "two"))
        assert [kept.seq for kept in await say(store, ABC, "three")] == [3]
        await ingest(store, make_transcript("abc", "one", "two", "upstream"), mark="2")
        assert await read_contents(store, ABC) == ["one", "two", "three", "upstream"]

    async def test_an_import_belongs_to_the_person_it_was_made_for(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one", title="Garden"), principal=GUEST)
        assert await store.find(Listing()) == []
        assert (await store.get(ABC)).principal == GUEST

    # clashes
    async def test_an_id_that_is_taken_gets_the_source_before_it(self, store: Store) -> None:
        await begin(store, "mine", id=ABC)
        [done] = await ingest(store, make_transcript("abc", "theirs"))
        assert done.session == "hermes-abc"
        assert "abc" in done.note
        assert await read_contents(store, SessionId("hermes-abc")) == ["theirs"]
        assert await read_contents(store, ABC) == ["mine"]

    async def test_the_same_session_of_two_homes_is_two_sessions(self, store: Store) -> None:
        outcomes = [(await ingest(store, make_transcript("abc", home), home=home))[0] for home in ("/a", "/b", "/c")]
        sessions = [one.session for one in outcomes]
        assert sessions[:2] == ["abc", "hermes-abc"]
        assert len(set(sessions)) == 3
        assert all(one.outcome == "imported" for one in outcomes)

    async def test_an_id_that_is_no_safe_name_is_replaced(self, store: Store) -> None:
        [done] = await ingest(store, make_transcript("../../etc/passwd", "hello"))
        assert done.session
        assert "/" not in done.session
        assert "passwd" in done.note
        assert (await store.get(done.session)).details["source_id"] == "../../etc/passwd"
        assert (await ingest(store, make_transcript("../../etc/passwd", "hello")))[0].outcome == "unchanged"

    async def test_a_title_that_is_taken_gets_a_number(self, store: Store) -> None:
        await store.create(title="Garden")
        done = await ingest(
            store,
            make_transcript("a", title="Garden"),
            make_transcript("b", title=" Garden\n"),
            make_transcript("c", title="x" * 300),
        )
        titles = [(await store.get(one.session)).title for one in done if one.session]
        assert titles == ["Garden", "Garden #2", "Garden #3", "x" * 90][1:]
        assert "Garden #2" in done[0].note

    async def test_a_long_title_that_is_taken_still_fits_with_its_number(self, store: Store) -> None:
        done = await ingest(store, *(make_transcript(f"s{n}", title="y" * 100) for n in range(3)))
        titles = [(await store.get(one.session)).title or "" for one in done if one.session]
        assert len(set(titles)) == 3
        assert all(len(title) <= 100 for title in titles)

    @pytest.mark.parametrize("title", [None, "", "  ", "\x00\u200b", 7])
    async def test_a_title_that_says_nothing_is_none(self, store: Store, title: object) -> None:
        await ingest(store, make_transcript("abc", "x", title=title))
        assert (await store.get(ABC)).title is None

    async def test_a_field_that_does_not_fit_is_left_out(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "x", ended_at="never", input_tokens="some", chat_id=42))
        kept = await store.get(ABC)
        assert (kept.ended_at, kept.input_tokens, kept.details["chat_id"]) == (None, 0, "42")

    # again
    async def test_the_same_again_changes_nothing(self, store: Store) -> None:
        batch = [
            make_transcript("abc", "one", call_message("terminal"), records=[("x", "1")], title="T"),
            make_transcript("def", "two"),
        ]
        await ingest(store, *batch)
        before = await dump(store)
        done = await ingest(store, *batch)
        assert [(one.outcome, one.session, one.new_messages) for one in done] == [
            ("unchanged", "abc", 0),
            ("unchanged", "def", 0),
        ]
        assert await dump(store) == before

    async def test_only_new_messages_are_added(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one", "two"))
        [done] = await ingest(
            store, make_transcript("abc", "one", "two", call_message("terminal", text="three")), mark="2"
        )
        assert (done.outcome, done.new_messages, done.changed_messages) == ("updated", 1, 0)
        assert await read_contents(store, ABC) == ["one", "two", "three"]
        kept = await store.get(ABC)
        assert (kept.message_count, kept.tool_call_count, kept.last_seq, kept.last_active) == (3, 1, 3, 1003.0)
        assert (await store.verify()).clean

    async def test_flags_follow_the_source(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "apple", "pear"))
        await store.index()
        later = make_transcript(
            "abc", replace(user("apple"), active=False), replace(user("pear"), active=False, compacted=True)
        )
        [done] = await ingest(store, later, mark="2")
        assert (done.outcome, done.new_messages, done.changed_messages) == ("updated", 0, 2)
        assert [await find_hits(store, word) for word in ("apple", "pear")] == [[], [("abc", 2)]]

    async def test_rows_that_are_gone_upstream_stay_here(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one", "two", "three"))
        two = replace(user("two"), native_id="m2")
        [done] = await ingest(store, make_transcript("abc", two), mark="2")
        assert (done.removed_upstream, done.new_messages) == (2, 0)
        assert await read_contents(store, ABC) == ["one", "two", "three"]

    async def test_ids_that_look_like_secrets_are_told_apart(self, store: Store) -> None:
        ids = [f"sk-{'a1' * 10}{n}" for n in range(3)]
        one = make_transcript("abc", *(replace(user(id[-1]), native_id=id) for id in ids))
        await ingest(store, one)
        [done] = await ingest(store, one, mark="2")
        assert done.new_messages == 0
        assert await read_contents(store, ABC) == ["0", "1", "2"]

    async def test_figures_and_records_follow_the_source(self, store: Store) -> None:
        usage = [{"model": "m", "input_tokens": 1}]
        await ingest(store, make_transcript("abc", "a", input_tokens=1, records=[("x", "1"), ("y", "2")], usage=usage))
        later = make_transcript(
            "abc",
            "a",
            input_tokens=9,
            api_call_count=4,
            estimated_cost_usd=0.5,
            rewind_count=2,
            ended_at=5.0,
            end_reason="done",
            records=[("x", "3")],
            usage=[{"model": "m", "input_tokens": 7}],
        )
        await ingest(store, later, mark="2")
        kept = await store.get(ABC)
        assert (kept.input_tokens, kept.estimated_cost_usd, kept.ended_at, kept.end_reason) == (9, 0.5, 5.0, "done")
        assert (kept.details["api_call_count"], kept.details["rewind_count"]) == (4, 2)
        assert [(row["kind"], row["data"]) for row in await read_table(store, "source_records")] == [("x", "3")]
        assert [row["input_tokens"] for row in await read_table(store, "session_model_usage")] == [7]

    async def test_a_fork_whose_parent_is_gone_upstream_keeps_its_usage(self, store: Store) -> None:
        own = [{"model": "m", "input_tokens": 1}]
        parent = make_transcript("parent", "a", input_tokens=8)
        child = make_transcript("abc", "a", "b", parent_session_id="parent", input_tokens=1, usage=own)
        await ingest(store, parent, child)
        alone = make_transcript("abc", "a", "b", "c", input_tokens=9, usage=[{"model": "m", "input_tokens": 9}])
        await ingest(store, alone, mark="2")
        assert ((await store.get(ABC)).message_count, (await store.get(ABC)).input_tokens) == (3, 1)
        assert [row["input_tokens"] for row in await read_table(store, "session_model_usage")] == [1]

    async def test_the_machine_it_was_imported_on_is_known_and_stays(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "a"), make_transcript("def", "b", machine="attic"))
        assert (await store.get(ABC)).machine is None
        for number, name in enumerate(("cellar", "attic"), 2):
            await ingest(store, make_transcript("abc", "a", str(number), machine=name), mark=str(number))
        assert (await store.get(ABC)).machine == "cellar"
        assert [one.id for one in await store.find(Listing(machines=("attic",)))] == ["def"]
        assert await store.count(Listing(machines=("attic", "cellar"))) == 2

    async def test_a_title_that_comes_later_is_taken_and_one_of_ours_is_kept(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "a"), make_transcript("def", "b", title="Theirs"))
        await change_title(store, await store.get(SessionId("def")), "Ours")
        await ingest(
            store, make_transcript("abc", "a", title="Ours"), make_transcript("def", "b", title="Changed"), mark="2"
        )
        titles = [(await store.get(SessionId(id))).title for id in ("abc", "def")]
        assert titles == ["Ours #2", "Ours"]
        assert await find_hits(store, "ours") == [("def", 0), ("abc", 0)]

    async def test_archiving_here_survives_and_archiving_there_arrives(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "a"), make_transcript("def", "b"))
        ours = await store.get(ABC)
        await store.change(ours, replace(ours, archived=True, pinned=True, tags=("mine",)))
        await ingest(store, make_transcript("abc", "a", "c"), make_transcript("def", "b", archived=1), mark="2")
        kept = await store.get(ABC)
        assert (kept.archived, kept.pinned, kept.tags) == (True, True, ("mine",))
        assert (await store.get(SessionId("def"))).archived

    async def test_a_session_deleted_here_does_not_come_back(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"))
        await store.delete(ABC)
        for mark in ("1", "2", "3"):
            [done] = await ingest(store, make_transcript("abc", "one", f"more {mark}"), mark=mark)
            assert (done.session, done.outcome, done.new_messages) == (None, "unchanged", 0)
            assert "deleted" in done.note
        assert await store.find(Listing(archived=None)) == []
        assert (await store.verify()).clean

    async def test_fingerprints_are_known_by_source_and_home(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"), make_transcript(f"odd {ODD}", "two"), mark="f1")
        await ingest(store, make_transcript("abc", "one"), mark="f2", home=f"/odd {ODD}")
        await ingest(store, make_transcript("abc", "one"), mark="f3", source="codex")
        assert await store.list_fingerprints("hermes", HOME) == {"abc": "f1", f"odd {ODD}": "f1"}
        assert await store.list_fingerprints("hermes", f"/odd {ODD}") == {"abc": "f2"}
        assert await store.list_fingerprints("codex", HOME) == {"abc": "f3"}
        assert await store.list_fingerprints("codex", "/elsewhere") == {}

    async def test_a_fingerprint_is_renewed_even_when_nothing_else_is(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"), mark="f1")
        await ingest(store, make_transcript("abc", "one"), mark="f2")
        assert await store.list_fingerprints("hermes", HOME) == {"abc": "f2"}

    async def test_a_batch_comes_in_whole_or_not_at_all(self, store: Store) -> None:
        broken = make_transcript("bad", Message(role="user", content=7))  # type: ignore[arg-type]
        with pytest.raises(Exception, match=r".+"):
            await ingest(store, make_transcript("abc", "one"), broken)
        assert await store.is_empty()
        assert await store.list_fingerprints("hermes", HOME) == {}
        assert [one.outcome for one in await ingest(store, make_transcript("abc", "one"))] == ["imported"]

    async def test_an_import_does_not_wait_for_a_running_turn(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"))
        async with hold_lease(store, ABC) as lease:
            await ingest(store, make_transcript("abc", "one", "two"), mark="2")
            assert [kept.seq for kept in await store.append(lease, [user("three")])] == [3]
