"""Contract: attachments, statistics, verification, moving a store, and health."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import assistant, user
from sojourn.core.sessions import SessionId
from sojourn.ports.gateway_store import OutgoingDraft
from sojourn.ports.platform import File
from sojourn.ports.store import Record, Store
from sojourn.testing.store_steps import (
    GUEST,
    ODD,
    Fresh,
    begin,
    call_message,
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


async def fill_store(store: Store) -> SessionId:
    """Fills every table with rows; returns one of the sessions."""
    session = await begin(
        store,
        "hello",
        Chunk("Hel"),
        assistant("Hello"),
        call_message("terminal"),
        tool_message("terminal", ODD),
        Done(),
        title="Garden",
        cwd=ODD,
        details={"system_prompt": "Be kind.", "origin_json": {"a": 1}},
    )
    kept = await store.get(session)
    await store.change(kept, replace(kept, tags=("work", "日本"), pinned=True))
    await store.put_blob(session, bytes(range(256)), media_type="image/png", name=ODD)
    async with hold_lease(store, session) as lease:
        await store.set_flags(lease, [1], active=False, compacted=True)
        await store.end(lease, "done")
    await begin(store, "guest words", principal=GUEST, parent=session, source="subagent")
    usage = [{"model": "m", "input_tokens": 5, "actual_cost_usd": 0.125}]
    await ingest(store, make_transcript("abc", "one", ODD, records=[("x", "1")], usage=usage, estimated_cost_usd=1.5))
    await store.put_record(Record(kind="note", key=ODD, value={"n": 1.5, ODD: None}, principal=GUEST, session=session))
    await store.request_handoff(session, "telegram", surface="cli", target=ODD, by=ODD, seconds=-1)
    await store.expire_handoffs()
    file = File(name=ODD, media_type="x/y", data=bytes(range(256)))
    await store.add_incoming("telegram", "bot", ODD, place=ODD, payload={ODD: 1}, files=[file])
    [item] = await store.claim_incoming("gateway")
    await store.update_incoming(item, session=session)
    await store.put_outgoing(
        [OutgoingDraft(key=ODD, platform="telegram", account="bot", place=ODD, payload=[ODD], session=session)]
    )
    await store.bind(ODD, session, details={"chat": 1})
    await store.forget(await begin(store, "gone"))
    return session


async def move_rows(here: Store, there: Store, page: int = 2) -> None:
    """Copies every table page by page, as `store migrate` does."""
    for table, columns, key in here.tables():
        after: tuple[Any, ...] | None = None
        while found := await here.export_rows(table, after=after, limit=page):
            assert len(found) <= page
            await there.import_rows(table, found)
            after = tuple(found[-1][columns.index(name)] for name in key)


async def back_up_or_none(store: Store, target: Path) -> Path | None:
    """Makes a backup; returns None if the store makes none and its error has a hint."""
    try:
        return await store.backup(target)
    except BadInput as refusal:
        if not refusal.hint:
            raise
        return None


class MaintenanceContract:
    """An operator can count, verify and move the data; a broken store is never reported as healthy."""

    # attachments
    async def test_an_attachment_comes_back_by_its_hash(self, store: Store) -> None:
        session, data = await begin(store), bytes(range(256)) * 100
        hash = await store.put_blob(session, data, media_type="image/png", name="picture.png")
        assert hash == hashlib.sha256(data).hexdigest()
        assert await store.get_blob(session, hash) == (data, "image/png")

    async def test_equal_bytes_are_kept_once(self, store: Store) -> None:
        one, other = await begin(store), await begin(store)
        for session, name in ((one, "a"), (one, "a"), (one, "b"), (other, "a")):
            await store.put_blob(session, b"same", media_type="text/plain", name=name)
        assert (len(await read_table(store, "blobs")), len(await read_table(store, "blob_uses"))) == (1, 3)

    async def test_an_attachment_is_for_the_sessions_that_use_it(self, store: Store) -> None:
        mine, other = await begin(store), await begin(store)
        hash = await store.put_blob(mine, b"mine", media_type="text/plain")
        for session, asked in ((other, hash), (mine, "0" * 64), (mine, "\ud800"), (mine, "\0")):
            with pytest.raises(NotFound):
                await store.get_blob(session, asked)

    async def test_an_empty_attachment_and_an_odd_name_are_fine(self, store: Store) -> None:
        session = await begin(store)
        hash = await store.put_blob(session, b"", media_type=ODD, name=ODD)
        assert await store.get_blob(session, hash) == (b"", ODD)

    # figures and proofs
    async def test_stats_count_what_is_there(self, store: Store) -> None:
        await begin(store, "a", Chunk("b"), assistant("c"))
        await begin(store, "d", source="web")
        stats = await store.stats()
        assert (stats.sessions, stats.messages, stats.events) == (2, 3, 1)
        assert stats.sessions_by_source == {"cli": 1, "web": 1}
        assert stats.messages_by_role == {"user": 2, "assistant": 1}
        assert list(stats.messages_by_role) == ["user", "assistant"]
        assert stats.bytes > 0
        assert stats.bytes_by
        assert stats.kind
        assert stats.place

    async def test_stats_follow_what_is_removed(self, store: Store) -> None:
        gone, kept = await begin(store, "a", Chunk("b"), assistant("c")), await begin(store, "d", source="web")
        await store.forget(gone)
        stats = await store.stats(by_part=False)
        assert (stats.sessions, stats.messages, stats.events) == (1, 1, 0)
        assert (stats.sessions_by_source, stats.messages_by_role) == ({"web": 1}, {"user": 1})
        await store.forget(kept)
        stats = await store.stats(by_part=False)
        assert (stats.sessions_by_source, stats.messages_by_role, stats.records) == ({}, {}, 0)
        assert (await store.verify()).clean

    async def test_stats_of_an_empty_store_are_zeros(self, store: Store) -> None:
        stats = await store.stats()
        assert (stats.sessions, stats.messages, stats.events, stats.not_indexed) == (0, 0, 0, 0)
        assert (stats.sessions_by_source, stats.messages_by_role) == ({}, {})

    async def test_a_used_store_verifies_clean(self, store: Store) -> None:
        await fill_store(store)
        await store.index()
        verdict = await store.verify()
        assert (verdict.clean, verdict.problems) == (True, ())
        assert verdict.checked == {"sessions": 3, "messages": 7, "events": 2, "records": 1}

    async def test_verify_tells_its_progress(self, store: Store) -> None:
        told: list[tuple[str, int, int]] = []
        await store.verify(lambda what, done, of: told.append((what, done, of)))
        assert all(done <= of for _, done, of in told)

    async def test_a_row_without_its_session_is_a_problem(self, store: Store) -> None:
        await begin(store, "a", Chunk("b"), id=SessionId("abc"))
        broken = {"last_seq": 1, "message_count": 5}
        columns = {name: columns for name, columns, _ in store.tables()}["sessions"]
        [row] = await read_table(store, "sessions")
        other = {**row, "id": "def", "title": None, **broken}
        await store.import_rows("sessions", [tuple(other[name] for name in columns)])
        verdict = await store.verify()
        assert not verdict.clean
        assert all(verdict.problems)

    async def test_a_healthy_store_says_so(self, store: Store) -> None:
        for _ in range(2):
            health = await store.health()
            assert (health.state, health.readable, health.code, health.error) == ("healthy", True, "ok", "")
            assert health.store
            await begin(store, "a")

    # moving
    async def test_a_moved_store_has_equal_rows(self, store: Store, fresh: Fresh) -> None:
        await fill_store(store)
        other = fresh()
        assert await other.is_empty()
        assert not await store.is_empty()
        await move_rows(store, other)
        assert await dump(other) == await dump(store)
        assert all((await dump(store)).values()), "every table had something to move"

    async def test_a_moved_store_works_as_before(self, store: Store, fresh: Fresh) -> None:
        session = await fill_store(store)
        await store.index()
        other = fresh()
        await move_rows(store, other, page=100)
        assert await other.get(session) == await store.get(session)
        assert await collect(other.read(session)) == await collect(store.read(session))
        for word in ("hello", "guest", "garden", "one", "日本"):
            assert await find_hits(other, word) == await find_hits(store, word)
        await other.index()
        assert await find_hits(other, "hello") == await find_hits(store, "hello") != []
        assert (await other.verify()).clean

    async def test_numbers_go_on_after_a_move(self, store: Store, fresh: Fresh) -> None:
        session = await fill_store(store)
        other = fresh()
        await move_rows(store, other)
        for one in (store, other):
            assert [kept.seq for kept in await say(one, session, "next")] == [7]
        [a], [b] = [
            [row["id"] for row in await read_table(one, "messages") if row["content"] == "next"]
            for one in (store, other)
        ]
        assert a == b or b > max(row["id"] for row in await read_table(store, "messages") if row["content"] != "next")

    async def test_what_was_forgotten_stays_away_after_a_move(self, store: Store, fresh: Fresh) -> None:
        await ingest(store, make_transcript("abc", "one"))
        await store.forget(SessionId("abc"))
        other = fresh()
        await move_rows(store, other)
        assert [one.outcome for one in await ingest(other, make_transcript("abc", "one"))] == ["forgotten"]

    async def test_a_lease_does_not_move_along_and_its_number_does(self, store: Store, fresh: Fresh) -> None:
        session = await begin(store, "a")
        old = await store.lease(session, holder="me", surface="cli")
        other = fresh()
        await move_rows(store, other)
        new = await other.lease(session, holder="me", surface="cli")
        assert new.fence > old.fence

    async def test_moving_into_a_store_that_was_emptied_makes_everything_findable(
        self, store: Store, fresh: Fresh
    ) -> None:
        other = fresh()
        used = await begin(other, *(f"pear {n}" for n in range(20)))
        await other.index()
        await other.delete(used)
        assert await other.is_empty()
        session = await begin(store, "apple")
        await move_rows(store, other)
        assert await find_hits(other, "apple") == [(session, 1)]
        await other.index()
        assert await find_hits(other, "apple") == [(session, 1)]

    async def test_a_store_that_remembers_something_is_not_empty(self, store: Store) -> None:
        assert await store.is_empty()
        await store.forget(await begin(store, "a"))
        assert not await store.is_empty()

    async def test_a_page_that_cannot_be_taken_leaves_nothing_behind(self, store: Store, fresh: Fresh) -> None:
        await begin(store, "a")
        page = await store.export_rows("sessions", after=None, limit=10)
        other = fresh()
        with pytest.raises(Exception, match=r".+"):
            await other.import_rows("sessions", [*page, *page])
        assert await other.is_empty()

    # copies
    async def test_a_copy_can_be_made_and_brought_back_or_is_refused_with_a_hint(
        self, store: Store, tmp_path: Path
    ) -> None:
        session = await begin(store, "kept")
        if (copy := await back_up_or_none(store, tmp_path / "copy.db")) is None:
            return
        await say(store, session, "later")
        await store.restore(copy)
        assert await read_contents(store, session) == ["kept"]
        assert [kept.seq for kept in await say(store, session, "again")] == [2]

    async def test_a_copy_never_replaces_a_file(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "mine.db").write_text("precious")
        await begin(store, user("a"))
        with pytest.raises(BadInput):
            await store.backup(tmp_path / "mine.db")
        assert (tmp_path / "mine.db").read_text() == "precious"
