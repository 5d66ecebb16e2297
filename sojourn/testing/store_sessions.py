"""Contract: sessions are created, found and changed."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from sojourn.core.errors import Ambiguous, BadInput, BadTitle, Conflict, NotFound, TitleTaken
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.store import Listing, Store
from sojourn.testing.store_steps import GUEST, NOBODY, ODD, begin, change_title, collect, read_table, say, take_first
from sojourn.text.titles import MAX_TITLE_CHARS


class SessionsContract:
    """An id never changes; titles are unique per principal; changes are compare-and-swap."""

    # ids
    async def test_an_id_says_when_the_session_began_and_is_a_safe_file_name(self, store: Store) -> None:
        session = await store.create()
        assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", session.id)

    async def test_no_id_is_given_twice(self, store: Store) -> None:
        made = [await store.create() for _ in range(50)]
        assert len({session.id for session in made}) == 50

    async def test_a_given_id_is_kept(self, store: Store) -> None:
        await store.create(id=SessionId("my.own-id:1"))
        assert (await store.get(SessionId("my.own-id:1"))).id == "my.own-id:1"

    async def test_an_id_that_is_taken_is_a_conflict_for_everybody(self, store: Store) -> None:
        await store.create(id=SessionId("mine"))
        with pytest.raises(Conflict, match="mine"):
            await store.create(id=SessionId("mine"), principal=GUEST)

    @pytest.mark.parametrize("id", ["../up", "a/b", "a b", ".hidden", "nul\0", "\ud800", "é", "a..b", "x" * 300])
    async def test_an_id_that_is_no_safe_file_name_is_refused(self, store: Store, id: str) -> None:
        with pytest.raises(BadInput):
            await store.create(id=SessionId(id))
        assert await store.is_empty()

    async def test_one_of_two_who_want_the_same_id_gets_it(self, store: Store, again: Store) -> None:
        both = [one.create(id=SessionId("wanted")) for one in (store, again)]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "Session"]

    # opening
    async def test_a_new_session_is_as_it_was_asked_for(self, store: Store) -> None:
        parent = await store.create()
        made = await store.create(
            principal=GUEST, source="telegram", title="Plans", parent=parent.id, model="m-1", cwd="/tmp/x"
        )
        assert (made.principal, made.source, made.title, made.model, made.cwd) == (
            GUEST,
            "telegram",
            "Plans",
            "m-1",
            "/tmp/x",
        )
        assert (made.parent_session_id, made.revision, made.last_seq, made.message_count) == (parent.id, 1, 0, 0)
        assert (made.driver, made.driver_fence, made.ended_at, made.preview, made.tags) == (None, 0, None, "", ())
        assert made.started_at == made.last_active > 1_700_000_000
        assert await store.get(made.id) == made

    async def test_details_come_with_get_and_not_with_a_list(self, store: Store) -> None:
        details = {"system_prompt": "Be kind.", "chat_id": "42", "git_branch": "main", "api_call_count": 3}
        made = await store.create(details=details)
        assert details.items() <= made.details.items()
        assert [session.details for session in await store.find(Listing())] == [{}]

    async def test_details_that_are_not_text_become_json(self, store: Store) -> None:
        made = await store.create(details={"origin_json": {"room": [1, "ü"]}, "chat_id": 42, "expiry_finalized": True})
        kept = made.details
        assert (kept["origin_json"], kept["chat_id"], kept["expiry_finalized"]) == ('{"room": [1, "ü"]}', "42", 1)

    async def test_a_detail_that_does_not_fit_its_column_is_refused(self, store: Store) -> None:
        with pytest.raises(BadInput, match="api_call_count"):
            await store.create(details={"api_call_count": "many"})
        assert await store.is_empty()

    async def test_equal_system_prompts_are_kept_once(self, store: Store) -> None:
        sessions = [await store.create(details={"system_prompt": "Be kind." * 100}) for _ in range(3)]
        assert len(await read_table(store, "system_prompts")) == 1
        assert {session.details["system_prompt"] for session in sessions} == {"Be kind." * 100}

    @pytest.mark.parametrize("id", [NOBODY, "", "nul\0", "\ud800", "%"])
    async def test_an_unknown_session_is_not_found_by_anything(self, store: Store, id: str) -> None:
        session = SessionId(id)
        done = await asyncio.gather(
            store.get(session),
            store.set_driver(session, "cli"),
            store.lease(session, holder="x", surface="cli"),
            store.send_control(session, "stop"),
            store.delete(session),
            store.forget(session),
            store.put_blob(session, b"x", media_type="text/plain"),
            store.get_blob(session, "x"),
            collect(store.read(session)),
            collect(store.read(session, after=7)),
            take_first(1, store.watch(session)),
            return_exceptions=True,
        )
        assert [type(one) for one in done] == [NotFound] * len(done)

    # titles
    @pytest.mark.parametrize(
        ("raw", "kept"),
        [
            ("  Garden \n\t plans ", "Garden plans"),
            ("zero\u200bwidth\ufeff", "zerowidth"),
            ("a\x00b\ud800c\x1ad", "abcd"),
            ("日本 👋 ünï", "日本 👋 ünï"),
            (" \u200b ", None),
            ("", None),
        ],
    )
    async def test_a_title_is_kept_on_one_line_without_invisible_characters(
        self, store: Store, raw: str, kept: str | None
    ) -> None:
        made = await store.create(title=raw)
        assert made.title == kept
        assert (await change_title(store, await change_title(store, made, "Other"), raw)).title == kept

    async def test_a_title_that_is_too_long_is_refused(self, store: Store) -> None:
        session = await store.create(title="x" * MAX_TITLE_CHARS)
        with pytest.raises(BadTitle):
            await change_title(store, session, "x" * (MAX_TITLE_CHARS + 1))
        with pytest.raises(BadTitle):
            await store.create(title="y" * (MAX_TITLE_CHARS + 1))

    async def test_a_title_is_unique_for_a_person(self, store: Store) -> None:
        await store.create(title="Garden")
        other = await store.create(title="Kitchen")
        with pytest.raises(TitleTaken, match="Garden"):
            await store.create(title=" Garden ")
        with pytest.raises(TitleTaken):
            await change_title(store, other, "Garden")
        assert (await store.get(other.id)) == other

    async def test_sessions_without_a_title_do_not_clash(self, store: Store) -> None:
        assert [(await store.create()).title, (await store.create(title="  ")).title] == [None, None]

    async def test_two_people_may_use_the_same_title(self, store: Store) -> None:
        await store.create(title="Garden")
        assert (await store.create(title="Garden", principal=GUEST)).title == "Garden"

    async def test_a_title_that_was_given_up_is_free_again(self, store: Store) -> None:
        session = await store.create(title="Garden")
        await change_title(store, session, None)
        assert (await store.create(title="Garden")).title == "Garden"

    async def test_one_of_two_who_want_the_same_title_gets_it(self, store: Store, again: Store) -> None:
        both = [one.create(title="Garden") for one in (store, again)]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Session", "TitleTaken"]

    # resuming
    async def test_a_session_is_resumed_by_id_title_or_unique_beginning(self, store: Store) -> None:
        await store.create(id=SessionId("20260102_030405_aaaaaaaa"), title="Garden plans")
        await store.create(id=SessionId("20260103_030405_bbbbbbbb"))
        for words in ("20260102_030405_aaaaaaaa", "Garden plans", " Garden \n plans ", "20260102", "20260102_0"):
            assert (await store.resolve(words)).id == "20260102_030405_aaaaaaaa"

    async def test_a_beginning_that_fits_several_is_ambiguous_and_names_some(self, store: Store) -> None:
        await store.create(id=SessionId("20260102_a"))
        await store.create(id=SessionId("20260102_b"))
        with pytest.raises(Ambiguous, match=r"20260102_a.*20260102_b"):
            await store.resolve("20260102")

    async def test_a_whole_id_wins_over_being_the_beginning_of_another(self, store: Store) -> None:
        await store.create(id=SessionId("abc"))
        await store.create(id=SessionId("abcd"))
        assert (await store.resolve("abc")).id == "abc"

    async def test_a_title_wins_over_the_beginning_of_an_id(self, store: Store) -> None:
        await store.create(id=SessionId("garden-1"))
        titled = await store.create(title="garden")
        assert (await store.resolve("garden")).id == titled.id

    async def test_beginnings_are_told_apart_by_case_and_every_character(self, store: Store) -> None:
        for id in ("Ab1", "ab2", "ab_3", "abx3"):
            await store.create(id=SessionId(id))
        assert [(await store.resolve(words)).id for words in ("A", "ab2", "ab_", "abx")] == [
            "Ab1",
            "ab2",
            "ab_3",
            "abx3",
        ]

    async def test_a_session_is_found_by_any_part_of_its_title_that_only_it_has(self, store: Store) -> None:
        flaky = await store.create(title="Sample: hunting a flaky test")
        garden = await store.create(title="Sample: a Garden über Nacht")
        await store.create(title="Sample: gardening gloves")
        for words in ("flaky", "FLAKY test", "test hunting", "ting a fla", "hunting  a"):
            assert (await store.resolve(words)).id == flaky.id
        for words in ("garden", "ÜBER", "a garden"):  # whole words before parts of words
            assert (await store.resolve(words)).id == garden.id
        with pytest.raises(Ambiguous, match=r"hunting a flaky test"):
            await store.resolve("sample")
        with pytest.raises(NotFound):
            await store.resolve("flaky", principal=GUEST)

    async def test_a_name_that_fits_nothing_suggests_the_nearest_titles(self, store: Store) -> None:
        await store.create(title="Sample: hunting a flaky test")
        await store.create(title="Sample: hidden", principal=GUEST)
        with pytest.raises(NotFound) as missed:
            await store.resolve("flakey")
        assert "Did you mean “Sample: hunting a flaky test”?" in missed.value.hint
        with pytest.raises(NotFound) as missed:
            await store.resolve("hiden")
        assert "Did you mean" not in missed.value.hint

    @pytest.mark.parametrize("words", ["", "  ", "\x00", "\ud800", "%", "_", "é", "\U0010ffff", "~", "x" * 5000])
    async def test_words_that_fit_nothing_are_not_found(self, store: Store, words: str) -> None:
        await store.create(id=SessionId("abc"), title="Garden")
        with pytest.raises(NotFound):
            await store.resolve(words)

    # changing
    async def test_a_change_raises_the_revision(self, store: Store) -> None:
        old = await store.create()
        new = await store.change(old, replace(old, title="Garden", pinned=True, archived=True, model="m", cwd="/w"))
        assert (new.title, new.pinned, new.archived, new.model, new.cwd) == ("Garden", True, True, "m", "/w")
        assert new.revision == old.revision + 1
        assert await store.get(old.id) == new

    async def test_a_change_of_something_stale_is_a_conflict_and_changes_nothing(
        self, store: Store, again: Store
    ) -> None:
        old = await store.create()
        new = await again.change(old, replace(old, title="First"))
        with pytest.raises(Conflict, match="revision"):
            await store.change(old, replace(old, title="Second"))
        assert await store.get(old.id) == new

    async def test_one_of_two_changes_at_once_wins(self, store: Store, again: Store) -> None:
        old = await store.create()
        both = [one.change(old, replace(old, cwd=where)) for one, where in ((store, "/a"), (again, "/b"))]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "Session"]

    async def test_a_change_leaves_alone_what_is_not_for_changing(self, store: Store) -> None:
        old = await store.create()
        bold = replace(old, source="web", message_count=7, last_seq=9, driver="web", driver_fence=4, principal=GUEST)
        new = await store.change(old, replace(bold, started_at=1.0, ended_at=2.0, preview="hi"))
        assert new == replace(old, revision=2)

    async def test_hand_off_fields_move_with_hand_offs_only(self, store: Store) -> None:
        old = await store.create()
        bold = replace(old, handoff_state="pending", handoff_platform="matrix", handoff_error="no room")
        assert await store.change(old, bold) == replace(old, revision=2)

    async def test_a_deleted_session_cannot_be_changed(self, store: Store) -> None:
        session = await store.create()
        await store.delete(session.id)
        with pytest.raises(NotFound):
            await change_title(store, session, "Garden")

    async def test_odd_characters_come_back_from_a_session_row(self, store: Store) -> None:
        made = await store.create(cwd=ODD, model=ODD, details={"display_name": ODD})
        assert (made.cwd, made.model, made.details["display_name"]) == (ODD, ODD, ODD)
        new = await store.change(made, replace(made, cwd=ODD + "!"))
        assert new.cwd == ODD + "!"

    # tags
    async def test_tags_are_lower_case_sorted_and_unique(self, store: Store) -> None:
        old = await store.create()
        new = await store.change(old, replace(old, tags=("Work", "garden ", "work", "日本")))
        assert new.tags == ("garden", "work", "日本")
        assert (await store.change(new, replace(new, tags=()))).tags == ()

    @pytest.mark.parametrize("tag", ["", "two words", "a,b", "x" * 51, "nul\0"])
    async def test_a_tag_of_the_wrong_form_is_refused(self, store: Store, tag: str) -> None:
        old = await store.create()
        with pytest.raises(BadInput):
            await store.change(old, replace(old, tags=(tag,)))

    async def test_a_list_shows_the_sessions_that_have_all_the_tags(self, store: Store) -> None:
        both, one, other = [await store.create() for _ in range(3)]
        await store.change(both, replace(both, tags=("work", "garden")))
        await store.change(one, replace(one, tags=("work",)))
        await store.change(other, replace(other, tags=("homework", "workshop", "w%rk")))
        assert {s.id for s in await store.find(Listing(tags=("work",)))} == {both.id, one.id}
        assert {s.id for s in await store.find(Listing(tags=("Work", "garden")))} == {both.id}
        assert {s.id for s in await store.find(Listing(tags=("w%rk",)))} == {other.id}
        assert await store.find(Listing(tags=("\udcff",))) == []

    # lists
    async def test_a_list_has_the_newest_activity_first(self, store: Store) -> None:
        made = [await begin(store, f"number {n}") for n in range(4)]
        await say(store, made[1], "again")
        assert [session.id for session in await store.find(Listing())] == [made[1], made[3], made[2], made[0]]

    async def test_paging_through_a_list_shows_each_session_once(self, store: Store) -> None:
        made = {(await store.create()).id for _ in range(25)}
        seen: list[str] = []
        before = None
        while page := await store.find(Listing(limit=4, before=before)):
            seen += [session.id for session in page]
            before = (page[-1].last_active, page[-1].id)
        assert len(seen) == 25
        assert set(seen) == made

    async def test_the_middle_of_a_list_can_be_jumped_to_and_the_whole_be_counted(self, store: Store) -> None:
        made = [(await store.create(source="web" if n % 2 else "cli")).id for n in range(9)]
        everything = [one.id for one in await store.find(Listing())]
        assert sorted(everything) == sorted(made)
        assert [one.id for one in await store.find(Listing(skip=4, limit=3))] == everything[4:7]
        assert await store.find(Listing(skip=9)) == []
        assert await store.count(Listing(limit=2, skip=3)) == 9
        assert await store.count(Listing(sources=("web",))) == 4
        assert await store.count(Listing(archived=True)) == 0

    async def test_a_list_of_nothing_is_empty(self, store: Store) -> None:
        assert await store.find(Listing()) == []
        await store.create()
        assert await store.find(Listing(limit=0)) == []

    async def test_archived_sessions_are_hidden_until_asked_for(self, store: Store) -> None:
        shown, hidden = await store.create(), await store.create()
        await store.change(hidden, replace(hidden, archived=True))
        assert [s.id for s in await store.find(Listing())] == [shown.id]
        assert [s.id for s in await store.find(Listing(archived=True))] == [hidden.id]
        assert len(await store.find(Listing(archived=None))) == 2

    async def test_a_list_can_be_of_pinned_sessions_only(self, store: Store) -> None:
        plain, pinned = await store.create(), await store.create()
        await store.change(pinned, replace(pinned, pinned=True))
        assert [s.id for s in await store.find(Listing(pinned=True))] == [pinned.id]
        assert [s.id for s in await store.find(Listing(pinned=False))] == [plain.id]

    async def test_a_list_can_be_of_the_children_of_a_session(self, store: Store) -> None:
        parent = await store.create()
        child = await store.create(parent=parent.id, source="subagent")
        await store.create()
        assert [s.id for s in await store.find(Listing(parent=parent.id))] == [child.id]

    async def test_a_list_is_narrowed_by_source_model_and_time(self, store: Store) -> None:
        cli, web = await store.create(model="m-1"), await store.create(source="web", model="m-2")
        assert [s.id for s in await store.find(Listing(sources=("web", "matrix")))] == [web.id]
        assert [s.id for s in await store.find(Listing(model="m-1"))] == [cli.id]
        assert [s.id for s in await store.find(Listing(since=web.last_active))] == [web.id]
        assert [s.id for s in await store.find(Listing(until=web.last_active))] == [cli.id]

    @pytest.mark.parametrize(
        ("text", "fits"),
        [
            ("garden", True),
            ("GARDEN plans", True),
            ("plans garden", True),
            ("gard", False),
            ("gard*", True),
            ("garden kitchen", False),
            ("数据", True),
            ("据", True),
            ("数据库", True),
            ("库数", False),
            ("get_user", True),
            ("getuser", True),
            ("user", True),
            ("", True),
            ("!?", True),
        ],
    )
    async def test_a_list_is_narrowed_by_words_of_the_title(self, store: Store, text: str, fits: bool) -> None:
        await store.create(title="Plans for the Garden: getUser 数据库")
        await store.create(title="Something else") if text.strip(" !?") else None
        assert len(await store.find(Listing(text=text))) == fits

    # people
    async def test_a_person_cannot_reach_another_persons_session(self, store: Store) -> None:
        session = await store.create(principal=GUEST, title="Secret garden")
        assert await store.find(Listing(archived=None)) == []
        for words in (session.id, session.id[:12], "Secret garden"):
            with pytest.raises(NotFound):
                await store.resolve(words)
        with pytest.raises(NotFound):
            await store.get(session.id, principal=OWNER)
        assert (await store.get(session.id, principal=GUEST)).id == session.id
        assert (await store.resolve("Secret garden", principal=GUEST)).id == session.id

    async def test_another_persons_ids_do_not_make_a_beginning_ambiguous(self, store: Store) -> None:
        mine = await store.create(id=SessionId("20260102_a"))
        await store.create(id=SessionId("20260102_b"), principal=GUEST)
        assert (await store.resolve("2026")).id == mine.id
