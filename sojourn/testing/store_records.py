"""Contract: records. Documents beside the sessions, changed by compare-and-swap, deleted with their session."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, Conflict, LeaseLost, NotDriving, NotFound
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.store import Record, Store
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import GUEST, NOBODY, ODD, Fresh, begin, dump, hold_lease, read_contents, take_first
from sojourn.text.redaction import no_redaction

MOOD = Record(kind="mood", key="today", value={"sunny": True})


async def list_keys(store: Store, kind: str = "mood", **asked: object) -> list[str]:
    return [record.key for record in await store.list_records(kind, **asked)]  # type: ignore[arg-type]


async def put_records(store: Store, *names: str, **fields: object) -> None:
    for name in names:
        await store.put_record(replace(MOOD, key=name, **fields))  # type: ignore[arg-type]


class RecordsContract:
    """A record has a revision; a change names the revision it is based on."""

    async def test_a_stamp_changes_with_every_change_of_a_kind_and_a_person(self, store: Store, again: Store) -> None:
        stamps = [await store.stamp_records("mood", OWNER)]
        for change in (
            store.put_record(MOOD),
            store.put_record(MOOD),
            store.put_record(replace(MOOD, key="tomorrow")),
            store.delete_record("mood", "today"),
        ):
            await change
            stamps.append(await again.stamp_records("mood", OWNER))
        assert len(set(stamps)) == len(stamps)
        await store.put_record(replace(MOOD, key="theirs", principal=GUEST))
        await store.put_record(replace(MOOD, kind="other"))
        assert await store.stamp_records("mood", OWNER) == stamps[-1]

    # putting and getting
    async def test_a_record_comes_back_as_it_was_put(self, store: Store, again: Store) -> None:
        kept = await store.put_record(MOOD)
        assert (kept.kind, kept.key, kept.value, kept.principal, kept.session) == (
            "mood",
            "today",
            {"sunny": True},
            OWNER,
            None,
        )
        assert kept.revision == 1
        assert kept.created_at == kept.updated_at > 0
        assert await again.get_record("mood", "today") == kept

    async def test_there_is_none_where_none_was_put(self, store: Store) -> None:
        await store.put_record(MOOD)
        assert await store.get_record("mood", "Today") is None
        assert await store.get_record("weather", "today") is None
        assert await list_keys(store, "weather") == []

    @pytest.mark.parametrize("value", [None, True, 0, -1.5, "", ODD, [], {}, {"a": [1, {"b": None}]}, {ODD: ODD}])
    async def test_any_json_is_kept(self, store: Store, value: object) -> None:
        await store.put_record(replace(MOOD, value=value))
        kept = await store.get_record("mood", "today")
        assert kept is not None
        assert kept.value == value

    @pytest.mark.parametrize("value", [{1, 2}, b"bytes", float("nan"), object()])
    async def test_what_is_no_json_is_refused(self, store: Store, value: object) -> None:
        with pytest.raises(BadInput, match="JSON"):
            await store.put_record(replace(MOOD, value=value))
        assert await store.get_record("mood", "today") is None

    async def test_a_record_without_a_name_is_refused(self, store: Store) -> None:
        for record in (replace(MOOD, kind=""), replace(MOOD, key="")):
            with pytest.raises(BadInput):
                await store.put_record(record)

    async def test_odd_names_are_told_apart(self, store: Store) -> None:
        odd = [ODD, "a\x00", "a\x1a0000", "a\ud800", "a", "A", "á", "%", "_"]
        for name in odd:
            await store.put_record(Record(kind=name, key=name, value=name, principal=Principal(name)))
        for name in odd:
            assert [(one.key, one.value, one.principal) for one in await store.list_records(name)] == [(name,) * 3]

    async def test_putting_again_replaces_and_counts(self, store: Store) -> None:
        first = await store.put_record(MOOD)
        session = await begin(store)
        second = await store.put_record(replace(MOOD, value="rain", principal=GUEST, session=session))
        assert (second.value, second.principal, second.session, second.revision) == ("rain", GUEST, session, 2)
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at
        assert await store.get_record("mood", "today") == second

    # compare and swap
    async def test_a_change_is_made_only_at_the_revision_that_was_seen(self, store: Store, again: Store) -> None:
        seen = await store.put_record(MOOD, expect=0)
        await again.put_record(replace(seen, value="theirs"), expect=seen.revision)
        with pytest.raises(Conflict, match="revision 2"):
            await store.put_record(replace(seen, value="mine"), expect=seen.revision)
        kept = await store.get_record("mood", "today")
        assert kept is not None
        assert (kept.value, kept.revision) == ("theirs", 2)

    async def test_what_must_be_new_is_refused_when_it_is_there(self, store: Store) -> None:
        await store.put_record(MOOD, expect=0)
        with pytest.raises(Conflict, match="already there"):
            await store.put_record(replace(MOOD, value="late"), expect=0)

    async def test_what_was_deleted_meanwhile_is_not_changed(self, store: Store) -> None:
        seen = await store.put_record(MOOD)
        await store.delete_record("mood", "today")
        with pytest.raises(Conflict, match="gone"):
            await store.put_record(seen, expect=seen.revision)
        assert await store.get_record("mood", "today") is None

    async def test_one_of_many_who_make_it_at_once_wins(self, store: Store, again: Store) -> None:
        tries = [one.put_record(replace(MOOD, value=n), expect=0) for n in range(5) for one in (store, again)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Conflict"] * 9 + ["Record"]

    async def test_counting_together_loses_nothing(self, store: Store, again: Store) -> None:
        await store.put_record(replace(MOOD, value=0))

        async def count(one: Store) -> None:
            for _ in range(5):
                while True:
                    seen = await one.get_record("mood", "today")
                    assert seen is not None
                    try:
                        await one.put_record(replace(seen, value=seen.value + 1), expect=seen.revision)
                        break
                    except Conflict:
                        continue

        await asyncio.gather(*(count(one) for one in (store, again, store)))
        kept = await store.get_record("mood", "today")
        assert kept is not None
        assert (kept.value, kept.revision) == (15, 16)

    async def test_replacing_whatever_is_there_counts_each_time(self, store: Store, again: Store) -> None:
        puts = [one.put_record(replace(MOOD, value=n)) for n in range(5) for one in (store, again)]
        assert sorted(kept.revision for kept in await asyncio.gather(*puts)) == list(range(1, 11))

    # deleting
    async def test_deleting_says_whether_there_was_something(self, store: Store) -> None:
        await store.put_record(MOOD)
        assert await store.delete_record("mood", "today") is True
        assert await store.delete_record("mood", "today") is False
        assert await store.delete_record("mood", "today", expect=1) is False
        assert (await store.put_record(MOOD)).revision == 1

    async def test_a_record_is_deleted_only_at_the_revision_that_was_seen(self, store: Store) -> None:
        seen = await store.put_record(MOOD)
        now = await store.put_record(MOOD)
        with pytest.raises(Conflict, match="revision 2"):
            await store.delete_record("mood", "today", expect=seen.revision)
        assert await store.get_record("mood", "today") == now
        assert await store.delete_record("mood", "today", expect=now.revision) is True

    # listing
    async def test_records_are_listed_by_key_page_by_page(self, store: Store) -> None:
        await put_records(store, "b", "a", "c", "B", "é", "日", "\uffff", "\U0001f44b")
        assert await list_keys(store) == ["B", "a", "b", "c", "é", "日", "\uffff", "\U0001f44b"]
        assert await list_keys(store, limit=2) == ["B", "a"]
        assert await list_keys(store, after="a", limit=3) == ["b", "c", "é"]
        assert (
            await list_keys(store, after="\U0001f44b")
            == await list_keys(store, limit=0)
            == await list_keys(store, limit=-1)
            == []
        )

    async def test_records_are_listed_by_the_beginning_of_their_key(self, store: Store) -> None:
        await put_records(store, "ab", "abc", "ab\U0010ffffz", "aB", "ac", "a%", "a%b", "a_b", "ab\x00")
        assert set(await list_keys(store, prefix="ab")) == {"ab", "abc", "ab\U0010ffffz", "ab\x00"}
        assert await list_keys(store, prefix="ab\U0010ffff") == ["ab\U0010ffffz"]
        assert await list_keys(store, prefix="a%") == ["a%", "a%b"]
        assert await list_keys(store, prefix="a_") == ["a_b"]
        assert await list_keys(store, prefix="ab\x00") == ["ab\x00"]
        assert await list_keys(store, prefix="ab", after="ab", limit=1) == ["ab\x00"]

    async def test_each_person_lists_what_is_theirs(self, store: Store) -> None:
        await put_records(store, "mine")
        await put_records(store, "theirs", principal=GUEST)
        assert await list_keys(store, principal=OWNER) == ["mine"]
        assert await list_keys(store, principal=GUEST) == ["theirs"]
        assert await list_keys(store) == ["mine", "theirs"]

    async def test_records_of_a_session_are_listed(self, store: Store) -> None:
        session, other = await begin(store), await begin(store)
        await put_records(store, "one", session=session)
        await put_records(store, "two", session=other)
        await put_records(store, "three")
        assert await list_keys(store, session=session) == ["one"]
        assert await list_keys(store, session=NOBODY) == []

    # the lease
    async def test_a_record_is_put_while_the_lease_is_held(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            kept = await store.put_record(replace(MOOD, session=session), lease=lease)
            assert (await store.put_record(kept, expect=1, lease=lease)).revision == 2

    async def test_a_late_record_is_refused_when_the_lease_was_lost(self, store: Store, again: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="one", surface="cli")
        await again.renew(lease, 0)
        for record in (MOOD, replace(MOOD, session=session)):
            for expect in (None, 0):
                with pytest.raises(LeaseLost):
                    await store.put_record(record, expect=expect, lease=lease)
        assert await store.get_record("mood", "today") is None

    async def test_a_late_record_is_refused_after_another_surface_took_the_wheel(
        self, store: Store, again: Store
    ) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="one", surface="cli")
        await again.set_driver(session, "telegram")
        with pytest.raises(NotDriving, match="telegram"):
            await store.put_record(replace(MOOD, session=session), lease=lease)
        assert await store.get_record("mood", "today") is None

    # going with the session
    async def test_a_record_needs_its_session(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.put_record(replace(MOOD, session=NOBODY))
        assert await store.get_record("mood", "today") is None

    async def test_records_go_with_their_session_and_its_sub_agents(self, store: Store) -> None:
        session = await begin(store)
        helper = await begin(store, parent=session, source="subagent")
        branch = await begin(store, parent=session)
        for name, owner in (("a", session), ("b", helper), ("c", branch)):
            await put_records(store, name, session=owner)
        await put_records(store, "d")
        removed = await store.delete(session)
        assert removed.rows["records"] == 2
        assert await list_keys(store) == ["c", "d"]
        assert (await store.verify()).clean

    async def test_records_are_forgotten_with_their_session(self, store: Store) -> None:
        session = await begin(store)
        await store.put_record(Record(kind="mood", key="canary key", value="canary words", session=session))
        await store.forget(session)
        left = repr(await dump(store))
        assert "canary" not in left
        assert session not in left

    async def test_a_record_put_while_its_session_is_deleted_does_not_stay_behind(
        self, store: Store, again: Store
    ) -> None:
        for n in range(10):
            session = await begin(store)
            record = replace(MOOD, key=f"{n}", session=session)
            await asyncio.gather(again.put_record(record), store.delete(session), return_exceptions=True)
        assert await list_keys(store) == []
        assert (await store.verify()).clean

    # telling others
    async def test_a_changed_record_changes_its_session_for_those_who_watch(self, store: Store, again: Store) -> None:
        session = await begin(store)
        for step in (again.put_record(replace(MOOD, session=session)), again.delete_record("mood", "today")):
            before = await store.last_change()
            watching = asyncio.ensure_future(take_first(1, store.watch_changes(after=before)))
            await asyncio.sleep(0)
            await step
            [change] = await watching
            assert (change.session, change.kind) == (session, "changed")

    async def test_a_record_without_a_session_is_nobodys_change(self, store: Store) -> None:
        await begin(store)
        before = await store.last_change()
        await store.put_record(MOOD)
        await store.delete_record("mood", "today")
        assert await store.changes(after=before) == []

    async def test_a_record_leaves_its_sessions_revision_and_log_alone(self, store: Store) -> None:
        session = await begin(store, "a")
        before = await store.get(session)
        await store.put_record(replace(MOOD, session=session))
        assert await store.get(session) == before
        assert await read_contents(store, session) == ["a"]

    # secrets and figures
    async def test_secrets_in_records_are_blacked_out(self, store: Store) -> None:
        kept = await store.put_record(replace(MOOD, value={"key": f"use {KEY}", "password": "correct-horse"}))
        assert kept.value == {"key": "use [redacted:api-key]", "password": "[redacted:password]"}
        assert await store.get_record("mood", "today") == kept
        assert await find_traces(store, "Ab1Ab1") == await find_traces(store, "correct-horse") == []

    async def test_the_switch_that_keeps_secrets_holds_for_records(self, fresh: Fresh) -> None:
        store = fresh(redactor=no_redaction)
        assert (await store.put_record(replace(MOOD, value=KEY))).value == KEY

    async def test_records_are_counted_and_make_a_store_not_empty(self, store: Store) -> None:
        await store.put_record(MOOD)
        assert (await store.stats()).records == 1
        assert (await store.verify()).checked["records"] == 1
        assert not await store.is_empty()
