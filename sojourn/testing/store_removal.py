"""Contract: deletion is explicit and reported, and a forgotten session never comes back."""

from __future__ import annotations

import pytest

from sojourn.core.errors import Forgotten, NotFound, SessionBusy
from sojourn.core.events import Chunk, Progress
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.store import Listing, Record, Store
from sojourn.testing.store_steps import (
    GUEST,
    begin,
    call_message,
    dump,
    find_hits,
    hold_lease,
    ingest,
    make_transcript,
    read_table,
    say,
)


class RemovalContract:
    """`delete` removes all rows of a session; `forget` also leaves a hash that stops imports."""

    # delete
    async def test_delete_says_what_it_removed(self, store: Store) -> None:
        session = await begin(store, "a", Chunk("b"), call_message("terminal"), details={"system_prompt": "Be kind."})
        await store.put_blob(session, b"picture", media_type="image/png")
        removed = await store.delete(session)
        expected = {"sessions": 1, "messages": 2, "events": 1, "blobs": 1, "blob_uses": 1, "system_prompts": 1}
        assert removed.session == session
        assert expected.items() <= removed.rows.items()

    async def test_what_is_deleted_is_gone_everywhere(self, store: Store) -> None:
        session, other = await begin(store, "apple", title="Apple"), await begin(store, "apple")
        await store.index()
        await store.delete(session)
        with pytest.raises(NotFound):
            await store.get(session)
        assert await find_hits(store, "apple") == [(other, 1)]
        assert [one.id for one in await store.find(Listing(archived=None))] == [other]
        assert session not in repr(await dump(store))
        assert (await store.verify()).clean

    async def test_a_search_after_a_deletion_finds_what_was_kept_later(self, store: Store) -> None:
        gone = await begin(store, "apple")
        await store.index()
        await store.delete(gone)
        session = await begin(store, "apple")
        await store.index()
        assert await find_hits(store, "apple") == [(session, 1)]

    async def test_a_deleted_id_may_be_used_again_and_counts_from_one(self, store: Store) -> None:
        await begin(store, "a", "b", id=SessionId("mine"), title="Mine")
        await store.delete(SessionId("mine"))
        await begin(store, id=SessionId("mine"), title="Mine")
        assert [kept.seq for kept in await say(store, SessionId("mine"), "c")] == [1]

    async def test_sub_agents_go_along_and_branches_stay(self, store: Store) -> None:
        parent = await begin(store, "a")
        helper = await begin(store, "b", parent=parent, source="subagent")
        helpers_helper = await begin(store, "c", parent=helper, source="subagent")
        delegate = await begin(store, "d", parent=parent, details={"model_config": '{"_delegate_from": "x"}'})
        branch = await begin(store, "e", parent=parent, details={"model_config": '{"_branched_from": "x"}'})
        removed = await store.delete(parent)
        assert (removed.rows["sessions"], removed.rows["messages"]) == (4, 4)
        left = await store.find(Listing(archived=None))
        assert [(one.id, one.parent_session_id) for one in left] == [(branch, None)]
        assert not {parent, helper, helpers_helper, delegate} & {
            row["id"] for row in await read_table(store, "sessions")
        }

    async def test_a_running_turn_is_not_deleted_from_under_its_holder(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        async with hold_lease(store, session) as lease:
            with pytest.raises(SessionBusy):
                await again.delete(session)
            with pytest.raises(SessionBusy):
                await again.forget(session)
            await store.append(lease, [Chunk("still here")])

    async def test_a_running_sub_agent_keeps_its_parent_from_being_deleted(self, store: Store) -> None:
        parent = await begin(store, "a")
        helper = await begin(store, parent=parent, source="subagent")
        async with hold_lease(store, helper):
            with pytest.raises(SessionBusy):
                await store.delete(parent)
        assert (await store.delete(parent)).rows["sessions"] == 2

    async def test_the_holder_of_the_turn_may_delete(self, store: Store) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="me", surface="cli")
        assert (await store.delete(session, lease=lease)).rows["sessions"] == 1

    async def test_what_another_session_still_uses_is_not_removed(self, store: Store) -> None:
        one = await begin(store, details={"system_prompt": "Be kind."})
        other = await begin(store, details={"system_prompt": "Be kind."})
        for session in (one, other):
            hash = await store.put_blob(session, b"picture", media_type="image/png")
        removed = await store.delete(one)
        assert not {"blobs", "system_prompts"} & removed.rows.keys()
        assert await store.get_blob(other, hash) == (b"picture", "image/png")
        assert (await store.get(other)).details["system_prompt"] == "Be kind."

    # forget
    async def test_forget_removes_and_leaves_a_hash_but_no_name(self, store: Store) -> None:
        session = await begin(store, "canary words", title="Canary")
        await store.index()
        removed = await store.forget(session)
        assert removed.rows["messages"] == 1
        assert await find_hits(store, "canary") == []
        left = repr(await dump(store))
        assert session not in left
        assert "canary" not in left.lower()
        assert len(await read_table(store, "tombstones")) == 1

    async def test_a_forgotten_id_cannot_be_used_again(self, store: Store, again: Store) -> None:
        session = await begin(store, "a", id=SessionId("mine"))
        await store.forget(session)
        for person in (OWNER, GUEST):
            with pytest.raises(Forgotten):
                await again.create(id=session, principal=person)

    async def test_a_forgotten_session_is_not_imported_again(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "canary"), make_transcript("other", "words"))
        await store.forget(SessionId("abc"))
        assert "abc" not in await store.list_fingerprints("hermes", "/home/me/.hermes")
        assert await store.list_forgotten("hermes", "/home/me/.hermes", ["abc", "other"]) == {"abc"}
        assert await store.list_forgotten("hermes", "/home/me/.hermes", []) == set()
        [one, other] = await ingest(
            store, make_transcript("abc", "canary", "more"), make_transcript("other", "words"), mark="2"
        )
        assert (one.outcome, one.session, one.new_messages) == ("forgotten", None, 0)
        assert other.outcome == "updated"
        assert await find_hits(store, "canary") == []

    async def test_a_forgotten_session_is_recognised_by_its_origin(self, store: Store) -> None:
        await begin(store, id=SessionId("abc"))
        [brought] = await ingest(store, make_transcript("abc", "canary"), home="/odd \udcff home")
        assert brought.session == "hermes-abc"
        await store.forget(SessionId("hermes-abc"))
        [brought] = await ingest(store, make_transcript("abc", "canary"), home="/odd \udcff home")
        assert brought.outcome == "forgotten"
        assert await store.list_forgotten("hermes", "/odd \udcff home", ["abc", "b"]) == {"abc"}
        assert await store.list_forgotten("hermes", "/another/home", ["abc"]) == set()
        [other] = await ingest(store, make_transcript("abc", "another one"), home="/another/home")
        assert other.outcome == "imported"

    async def test_forgotten_sub_agents_stay_away_too(self, store: Store) -> None:
        parent = await begin(store, "a")
        helper = await begin(store, "b", parent=parent, source="subagent", id=SessionId("helper"))
        await store.forget(parent)
        with pytest.raises(Forgotten):
            await store.create(id=helper)
        assert helper not in repr(await dump(store))

    async def test_what_went_is_named_with_its_sub_agents(self, store: Store) -> None:
        for take in (store.delete, store.forget):
            parent = await begin(store, "a")
            helper = await begin(store, "b", parent=parent, source="subagent")
            assert set((await take(parent)).sessions) == {parent, helper}

    async def test_what_was_remembered_of_a_session_goes_when_it_is_forgotten(self, store: Store) -> None:
        session, other = await begin(store, "a"), await begin(store, "b")
        for key, source in (("one", session), ("two", other), ("three", None)):
            value = {"text": f"canary {key} from {session}", "source_session": source}
            await store.put_record(Record(kind="fact", key=key, value=value))
        removed = await store.forget(session)
        assert removed.rows["records"] == 1
        assert [one.key for one in await store.list_records("fact")] == ["three", "two"]
        await store.delete(other)
        assert len(await store.list_records("fact")) == 2, "to delete is not to forget"

    async def test_what_others_recalled_of_a_session_is_told_no_more_when_it_is_forgotten(
        self, store: Store, again: Store
    ) -> None:
        session, other = await begin(store, "a", title='my "canary" 100%'), await begin(store, "b", title="kept")
        quoted, about = 'From “my "canary" 100%”', {"title": "From “kept”", "origin": f"session {other}"}
        block = {
            "kind": "recall",
            "title": quoted,
            "origin": f"session {session}, today",
            "reason": "canary",
            "tokens": 7,
        }
        prepared = Progress("prepare", {"blocks": [block, about], "left_out": [quoted]})
        spoken = Chunk(
            'They call it “my "canary" 100%” too.'
        )  # what was said elsewhere stays: it is not ours to change
        await say(again, other, Progress("memory", block), prepared, spoken)
        await store.forget(session)
        told = [kept.item.detail async for kept in store.read(other) if isinstance(kept.item, Progress)]
        gone = "a forgotten session"
        left = {"kind": "recall", "title": gone, "origin": gone, "reason": gone, "tokens": 7}
        assert told == [left, {"blocks": [left, about], "left_out": [gone]}]
        assert [kept.item async for kept in store.read(other)][-1] == spoken

    async def test_a_store_goes_on_working_after_forgetting(self, store: Store, again: Store) -> None:
        other = await begin(again, "apple")
        await store.forget(await begin(store, "apple"))
        await say(again, other, "apple pie")
        assert await find_hits(store, "apple") == [(other, 2), (other, 1)]
        assert (await store.verify()).clean
