"""Contract: a branch begins with another session's messages, and these count once."""

from __future__ import annotations

from contextlib import closing

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import SessionId
from sojourn.ports.history import HasToolExchanges
from sojourn.ports.store import Record, SearchQuery, Store
from sojourn.testing.store_steps import NOBODY, begin, call_message, read_contents, say, tool_message


def _scanned(store: Store, session: SessionId) -> list[bytes | None]:
    with closing(store.history()) as history:
        [(_, rows)] = list(history.messages([session]))
        assert isinstance(history, HasToolExchanges)
        [(_, exchanges)] = list(history.exchanges([session]))
    assert len(exchanges) <= len(rows)
    return [row[2] for row in rows]


async def _branch(store: Store, session: SessionId, at: int) -> SessionId:
    return (await store.branch(session, at, source="web")).id


class BranchesContract:
    """The original is never changed."""

    async def test_a_branch_begins_with_the_messages_up_to_its_place(self, store: Store) -> None:
        session = await begin(store, "one", assistant("two"), "three", title="Talk", model="gpt-5", cwd="/x")
        made = await store.branch(session, 2, source="web")
        assert await read_contents(store, made.id) == ["one", "two"]
        assert (made.branched_from, made.copied, made.message_count, made.last_seq) == (f"{session}:2", 2, 2, 2)
        assert (made.title, made.model, made.cwd, made.source) == ("Talk #2", "gpt-5", "/x", "web")
        assert (made.preview, made.parent_session_id) == ("one", None)
        assert (await store.get(session)).last_seq == 3
        await say(store, made.id, "otherwise")
        assert await read_contents(store, made.id) == ["one", "two", "otherwise"]
        assert await read_contents(store, session) == ["one", "two", "three"]

    async def test_copies_count_once_in_scans_and_searches(self, store: Store) -> None:
        session = await begin(store, "apples", call_message("terminal"), tool_message("terminal", "ok"))
        made = await _branch(store, session, 3)
        await say(store, made, "pears")
        assert (len(_scanned(store, session)), _scanned(store, made)) == (3, [b"pears"])
        assert [hit.session for hit in await store.search(SearchQuery(text="apples"))] == [session]
        inside = await store.search(SearchQuery(text="apples", session=made))
        assert [(hit.session, hit.seq) for hit in inside] == [(made, 1)]
        assert (await store.get(made)).tool_call_count == 0

    async def test_undone_messages_stay_behind_and_summarised_ones_come_along(self, store: Store) -> None:
        undone = Message(role="user", content="undone", active=False)
        summarised = Message(role="user", content="summarised", active=False, compacted=True)
        session = await begin(store, undone, summarised, "live")
        made = await _branch(store, session, 3)
        rows = [kept.item async for kept in store.read(made, messages_only=True)]
        assert [(row.content, row.compacted) for row in rows if isinstance(row, Message)] == [
            ("summarised", True),
            ("live", False),
        ]

    async def test_results_come_along_with_their_call(self, store: Store) -> None:
        session = await begin(store, "do", call_message("a"), tool_message("a", "x"), tool_message("a", "y"), "next")
        assert len(await read_contents(store, await _branch(store, session, 2))) == 4
        assert len(await read_contents(store, await _branch(store, session, 3))) == 4
        assert await read_contents(store, await _branch(store, session, 0)) == []
        assert len(await read_contents(store, await _branch(store, session, 10**9))) == 5

    async def test_files_and_the_chosen_runtime_come_along(self, store: Store) -> None:
        session = await begin(store, "look")
        digest = await store.put_blob(session, b"pixels", media_type="image/png", name="a.png")
        chosen = Record(kind="runtime", key=session, value={"runtime": "echo"}, session=session)
        await store.put_record(chosen)
        made = await _branch(store, session, 1)
        await store.delete(session)
        assert await store.get_blob(made, digest) == (b"pixels", "image/png")
        found = await store.get_record("runtime", made)
        assert found is not None
        assert (found.value, found.session) == ({"runtime": "echo"}, made)

    async def test_copies_become_the_branchs_own_when_the_original_is_deleted(self, store: Store) -> None:
        session = await begin(store, "apples", assistant("b"))
        first = await _branch(store, session, 2)
        await say(store, first, "pears")
        second = await _branch(store, first, 3)
        await store.delete(first)
        now = await store.get(second)
        assert (now.branched_from, now.copied) == (f"{session}:2", 2)
        assert _scanned(store, second) == [b"pears"]
        await store.delete(session)
        now = await store.get(second)
        assert (now.branched_from, now.copied) == (None, 0)
        assert [hit.session for hit in await store.search(SearchQuery(text="apples"))] == [second]

    async def test_a_session_that_is_not_there_has_no_branch(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.branch(NOBODY, 1, source="web")
