"""Contract: the filters of a search, and the order, paging and snippets of its hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sojourn.core.messages import assistant, user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import SearchHit, SearchQuery, Store
from sojourn.testing.store_steps import (
    GUEST,
    begin,
    call_message,
    change_title,
    find_hits,
    highlighted_words,
    ingest,
    make_transcript,
    say,
    tool_message,
)

MODELS = ("small", "large", "large")


class SearchHitsContract:
    """What a search returns, and in which order."""

    async def test_hits_are_narrowed_by_role_source_and_session(self, store: Store) -> None:
        cli = await begin(store, "apple", assistant("apple"))
        web = await begin(store, "apple", source="web")
        assert await find_hits(store, "apple", roles=("assistant",)) == [(cli, 2)]
        assert await find_hits(store, "apple", roles=("assistant", "user")) == [(web, 1), (cli, 2), (cli, 1)]
        assert await find_hits(store, "apple", sources=("web", "matrix")) == [(web, 1)]
        assert await find_hits(store, "apple", session=cli, roles=("user",)) == [(cli, 1)]
        assert await find_hits(store, "apple", session=cli, sources=("web",)) == []

    async def test_hits_are_narrowed_by_what_is_known_of_their_session(self, store: Store) -> None:
        ids = [await begin(store, "apple", title=f"apple {n}", model=one) for n, one in enumerate(MODELS)]
        for id_, tags, archived in ((ids[0], ("tree",), False), (ids[1], ("tree", "red"), True)):
            now = await store.get(id_)
            await store.change(now, replace(now, tags=tags, archived=archived))

        async def sessions(**asked: Any) -> list[int]:
            return sorted({ids.index(SessionId(session)) for session, _ in await find_hits(store, "apple", **asked)})

        assert await sessions() == [0, 1, 2]
        assert await sessions(model="large") == [1, 2]
        assert await sessions(model="larg") == []
        assert await sessions(tags=("Tree",)) == [0, 1]
        assert await sessions(tags=("tree", "red")) == [1]
        assert await sessions(archived=True) == [1]
        assert await sessions(archived=False, model="large") == [2]
        assert await sessions(archived=False, tags=("tree",), roles=("user",)) == [0]

    async def test_hits_are_narrowed_by_time(self, store: Store) -> None:
        session = await begin(store, *(replace(user("apple"), timestamp=at) for at in (100.0, 200.0, 300.0)))
        assert await find_hits(store, "apple", since=200.0) == [(session, 3), (session, 2)]
        assert await find_hits(store, "apple", until=200.0) == [(session, 1)]
        assert await find_hits(store, "apple", since=150.0, until=300.0) == [(session, 2)]

    async def test_hits_are_narrowed_by_tool(self, store: Store) -> None:
        session = await begin(
            store,
            "terminal apple",
            call_message("terminal", '{"c": "apple"}'),
            tool_message("terminal", "apple"),
            call_message("web_search", '{"q": "apple terminal"}'),
        )
        assert await find_hits(store, "apple", tool="terminal") == [(session, 3), (session, 2)]
        assert await find_hits(store, "apple", tool="Terminal") == [(session, 3), (session, 2)]
        assert await find_hits(store, "apple", tool="web_search") == [(session, 4)]
        assert await find_hits(store, "apple", tool="web") == []

    async def test_a_tool_alone_is_enough_to_look_for(self, store: Store) -> None:
        session = await begin(
            store, "hi", call_message("mcp.files/read-all"), tool_message("mcp.files/read-all", "done")
        )
        assert await find_hits(store, "", tool="mcp.files/read-all") == [(session, 3), (session, 2)]
        await store.index()
        assert await find_hits(store, " ", tool="mcp.files/read-all") == [(session, 3), (session, 2)]

    async def test_a_person_does_not_find_what_another_one_said(self, store: Store) -> None:
        theirs = await begin(store, "apple", title="Apple pie", principal=GUEST)
        await store.index()
        assert await find_hits(store, "apple") == []
        assert await find_hits(store, "apple", session=theirs) == []
        assert await find_hits(store, "apple", principal=GUEST) == [(theirs, 0), (theirs, 1)]

    # hits
    async def test_a_hit_says_where_it_is_from(self, store: Store) -> None:
        session = await begin(
            store, replace(tool_message("terminal", "an apple a day"), timestamp=123.5), source="web", title="Fruit"
        )
        [hit] = await store.search(SearchQuery(text="apple"))
        assert (hit.session, hit.seq, hit.role, hit.timestamp) == (session, 1, "tool", 123.5)
        assert (hit.title, hit.source, hit.tool_name) == ("Fruit", "web", "terminal")
        assert (hit.snippet.text, highlighted_words(hit)) == ("an apple a day", ["apple"])

    @pytest.mark.parametrize(
        ("query", "marks"),
        [
            ("whale", ["whale", "Whale"]),
            ('"blue whale"', ["blue whale"]),
            ("get_user", ["getUser"]),
            ("getuser", ["getUser"]),
            ("getus*", ["getUser"]),
            ("user", ["User"]),
            ("wha*", ["whale", "Whale"]),
            ("错误", ["错误"]),
            ("错误信息", ["错误信息"]),
            ("信", ["信"]),
            ("blue whale", ["blue", "whale", "Whale"]),
        ],
    )
    async def test_a_snippet_highlights_what_was_asked_for(self, store: Store, query: str, marks: list[str]) -> None:
        await begin(store, "A blue whale, a Whale: getUser 错误信息")
        [hit] = await store.search(SearchQuery(text=query))
        assert highlighted_words(hit) == marks

    async def test_a_snippet_is_a_short_piece_around_the_hit(self, store: Store) -> None:
        await begin(store, "before " * 500 + "whale\n\tand " + "after " * 500)
        [hit] = await store.search(SearchQuery(text="whale"))
        assert len(hit.snippet.text) < 250
        assert hit.snippet.text.startswith("…")
        assert hit.snippet.text.endswith("…")
        assert "\n" not in hit.snippet.text
        assert highlighted_words(hit) == ["whale"]

    async def test_the_most_recently_kept_comes_first_whatever_its_clock_says(self, store: Store) -> None:
        one = await begin(store, replace(user("apple"), timestamp=900.0))
        other = await begin(store, replace(user("apple"), timestamp=100.0))
        await say(store, one, replace(user("apple"), timestamp=500.0))
        assert await find_hits(store, "apple") == [(one, 2), (other, 1), (one, 1)]

    # pages
    @pytest.mark.parametrize("query", ["apple", '"an apple"', "title apple"])
    async def test_paging_shows_each_hit_once_and_in_order(self, store: Store, query: str) -> None:
        for n in range(5):
            await begin(store, *("an apple a title" for _ in range(6)), title=f"an apple a title {n}")
            await store.index() if n == 2 else None
        whole = await store.search(SearchQuery(text=query, limit=100))
        paged: list[SearchHit] = []
        while page := await store.search(SearchQuery(text=query, limit=4, before=paged[-1].at if paged else None)):
            assert len(page) <= 4
            paged += page
        assert len(whole) == 35
        assert paged == whole

    async def test_a_rare_phrase_is_found_behind_many_near_misses(self, store: Store) -> None:
        session = await begin(store, "red house", *("house red" for _ in range(900)))
        await store.index()
        assert await find_hits(store, '"red house"', limit=1) == [(session, 1)]

    async def test_as_many_hits_as_asked_for(self, store: Store) -> None:
        await begin(store, *("apple" for _ in range(30)), title="apple")
        assert [len(await find_hits(store, "apple", limit=limit)) for limit in (0, 1, 2, 31, 99)] == [0, 1, 2, 31, 31]
        assert len(await find_hits(store, "apple")) == 20

    # titles
    async def test_titles_are_found_before_messages(self, store: Store) -> None:
        session = await begin(store, "apple", title="Apple pie 数据库")
        other = await begin(store, "apple")
        assert await find_hits(store, "apple") == [(session, 0), (other, 1), (session, 1)]
        [hit] = await store.search(SearchQuery(text='"apple pie" 数据', limit=1))
        assert (hit.role, hit.title, highlighted_words(hit)) == ("title", "Apple pie 数据库", ["Apple pie", "数据"])

    async def test_titles_are_left_out_where_messages_are_meant(self, store: Store) -> None:
        session = await begin(store, "pear", title="Apple pie")
        for asked in ({"roles": ("user",)}, {"tool": "terminal"}, {"session": session}, {"sources": ("web",)}):
            assert await find_hits(store, "apple", **asked) == []
        assert await find_hits(store, "apple", sources=("cli",)) == [(session, 0)]

    async def test_titles_are_narrowed_by_when_the_session_began(self, store: Store) -> None:
        await ingest(
            store,
            make_transcript("old", title="Apple", started_at=100.0),
            make_transcript("new", title="apple", started_at=200.0),
        )
        assert await find_hits(store, "apple", since=150.0) == [("new", 0)]
        assert await find_hits(store, "apple", until=150.0) == [("old", 0)]

    async def test_a_changed_title_is_found_by_its_new_words_only(self, store: Store) -> None:
        session = await store.create(title="Apple pie")
        await change_title(store, session, "Plum cake")
        assert await find_hits(store, "apple") == []
        assert await find_hits(store, "plum") == [(session.id, 0)]

    async def test_a_phrase_among_many_titles_is_found(self, store: Store) -> None:
        wanted = await begin(store, title="red house")
        await ingest(store, *(make_transcript(f"s{n}", title=f"house red {n}", started_at=3e9) for n in range(250)))
        assert await find_hits(store, '"red house"') == [(wanted, 0)]
