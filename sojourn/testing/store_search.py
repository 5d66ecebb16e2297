"""Contract: what was said is found again, the same way in every store."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk
from sojourn.core.messages import Message, assistant, user
from sojourn.core.sessions import SessionId
from sojourn.core.terms import MAX_CHARS, TOOL_HEAD, TOOL_TAIL
from sojourn.ports.store import Hit, Search
from sojourn.ports.whole import WholeStore
from sojourn.testing.store_steps import (
    GUEST,
    ODD,
    answers,
    asks,
    begin,
    bring,
    foreign,
    found,
    marked,
    retitled,
    say,
    turn,
)

CODE = "def get_user_name(userId): return HTTPServer.parseURL('https://x.org/a-b', v2=True)"
CHINESE = "数据库连接失败，请检查错误信息。"
JAPANESE = "東京でラーメンを食べました。コンピュータも買った"


MODELS = ("small", "large", "large")


class SearchContract:
    """Words, phrases, identifiers, beginnings, scripts without spaces; filters; pages; snippets."""

    # words
    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("garden", True),
            ("GARDEN", True),
            ("gardens", False),
            ("gard", False),
            ("tomatoes garden", True),
            ("garden tomatoes basil", False),
            ("straße", True),
            ("STRASSE", False),
            ("naïve", True),
            ("naive", False),
            ("42", True),
            ("4", False),
            ("don't", True),
            ("don", True),
            ("garden?", True),
            ("'); DROP TABLE --", False),
            ("AND", False),
            ("NOT garden", False),
            ("garden OR", False),
            ("garden NEAR", False),
            ("tomatoes*", True),
        ],
    )
    async def test_all_words_must_be_there_in_any_order(self, store: WholeStore, query: str, fits: bool) -> None:
        session = await begin(store, "My Garden has 42 tomatoes, naïve as I am; don't ask about the Straße")
        assert await found(store, query) == ([(session, 1)] if fits else [])

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ('"red house"', True),
            ('"house red"', False),
            ('"the red house"', True),
            ('"red" "hill"', True),
            ('"Red   House"', True),
            ('"red-house"', True),
            ('"red hill"', False),
            ('"red house', True),
            ('"on the hi"', False),
            ('"house" hill', True),
        ],
    )
    async def test_a_phrase_is_words_one_after_the_other(self, store: WholeStore, query: str, fits: bool) -> None:
        await begin(store, "The red house\n stands on the hill")
        assert len(await found(store, query)) == fits

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("gard*", True),
            ("g*", True),
            ("garden*", True),
            ("ardent*", False),
            ("gardener*", False),
            ("gard* hil*", True),
            ("getus*", True),
            ("get_us*", True),
            ("getUs*", True),
            ("数*", True),
        ],
    )
    async def test_a_beginning_finds_what_begins_so(self, store: WholeStore, query: str, fits: bool) -> None:
        await begin(store, "Gardens on a hill, getUserName 数据")
        assert len(await found(store, query)) == fits

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("get_user_name", True),
            ("getUserName", True),
            ("getusername", True),
            ("GETUSERNAME", True),
            ("user_name", True),
            ("userName", True),
            ("get", True),
            ("user", True),
            ("name", True),
            ("user_id", True),
            ("userid", True),
            ("httpserver", True),
            ("HTTPServer", True),
            ("http_server", True),
            ("server", True),
            ("parse_url", True),
            ("name_get", False),
            ("usern", False),
            ("a-b", True),
            ("x.org", True),
            ("v2", True),
            ("https://x.org/a-b", True),
        ],
    )
    async def test_an_identifier_is_found_however_it_is_spelled(
        self, store: WholeStore, query: str, fits: bool
    ) -> None:
        await begin(store, CODE)
        assert len(await found(store, query)) == fits

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("数", True),
            ("库", True),
            ("息", True),
            ("数据", True),
            ("据库", True),
            ("错误信息", True),
            ("数据库连接失败", True),
            ("失败 错误", True),
            ("误错", False),
            ("数库", False),
            ("信息错误", False),
            ("天", False),
            ("错误 天气", False),
        ],
    )
    async def test_chinese_is_found_by_one_two_four_or_more_characters(
        self, store: WholeStore, query: str, fits: bool
    ) -> None:
        await begin(store, CHINESE)
        assert len(await found(store, query)) == fits

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("東京", True),
            ("ラーメン", True),
            ("を食べました", True),
            ("コンピュータ", True),
            ("京東", False),
            ("買", True),
            ("ピュ", True),
            ("大阪", False),
        ],
    )
    async def test_japanese_is_found_by_its_characters(self, store: WholeStore, query: str, fits: bool) -> None:
        await begin(store, JAPANESE)
        assert len(await found(store, query)) == fits

    async def test_scripts_without_spaces_and_words_are_found_together(self, store: WholeStore) -> None:
        session = await begin(store, "用Python写的parser很快")
        for query in ("python", "parser 很快", "写的", "Python写"):
            assert await found(store, query) == [(session, 1)]

    # what is searched
    async def test_messages_of_every_role_are_found_and_events_are_not(self, store: WholeStore) -> None:
        session = await begin(
            store,
            "apple",
            assistant("apple"),
            Message(role="system", content="apple"),
            Chunk("apple"),
            answers("terminal", "apple"),
        )
        assert await found(store, "apple") == [(session, 5), (session, 3), (session, 2), (session, 1)]

    async def test_what_a_tool_was_asked_is_found(self, store: WholeStore) -> None:
        session = await begin(store, asks("write_file", json.dumps({"path": "notes/tomato.md"})))
        for query in ("tomato", "write_file", "notes/tomato.md"):
            assert await found(store, query) == [(session, 1)]

    async def test_structured_content_is_found_by_its_text(self, store: WholeStore) -> None:
        parts = json.dumps([{"type": "text", "text": "blue\nwhale"}, {"type": "image", "url": "picture"}])
        session = await begin(store, Message(role="user", content=parts, structured=True))
        assert await found(store, '"blue whale"') == [(session, 1)]
        assert await found(store, "picture") == []

    async def test_long_tool_output_is_found_by_its_head_and_its_tail(self, store: WholeStore) -> None:
        filler = "noise " * 50_000
        output = "headword " + filler[:TOOL_HEAD] + " middleword " + filler[TOOL_TAIL:] + " tailword"
        session = await begin(store, answers("terminal", output), output[:20_000] + " endword")
        await store.index()
        assert await found(store, "headword") == [(session, 2), (session, 1)]
        assert await found(store, "tailword") == [(session, 1)]
        assert await found(store, "middleword") == [(session, 2)]
        assert await found(store, "endword") == [(session, 2)]

    async def test_a_huge_message_is_found_by_its_beginning(self, store: WholeStore) -> None:
        session = await begin(store, "alpha " + "x " * MAX_CHARS + "omega")
        assert await found(store, "alpha") == [(session, 1)]
        assert await found(store, "omega") == []

    async def test_one_endless_word_does_no_harm(self, store: WholeStore) -> None:
        session = await begin(store, "a" * 500_000 + " tail", "数据" * 100_000, "a_b" * 100_000)
        await store.index()
        assert await found(store, "a" * 64) == [(session, 1)]
        assert (session, 2) in await found(store, "数据数据")

    async def test_odd_characters_do_not_stand_in_the_way(self, store: WholeStore) -> None:
        session = await begin(store, f"before {ODD} after", replace(answers(ODD, ODD), role=ODD), "next\x00door")
        await store.index()
        await begin(store, "something after it")
        assert (session, 1) in await found(store, "before after substitute")
        assert await found(store, "door") == [(session, 3)]
        assert await found(store, "日本", tool=ODD) == [(session, 2)]
        assert await found(store, "日本", roles=(ODD,)) == [(session, 2)]
        assert await store.search(Search(text="x \x00 \ud800 y")) == []

    async def test_an_undone_message_is_not_found_and_a_summarised_one_is(self, store: WholeStore) -> None:
        session = await begin(store, "apple", "apple", "apple")
        await store.index()
        async with turn(store, session) as lease:
            await store.set_flags(lease, [1], active=False, compacted=False)
            await store.set_flags(lease, [2], active=False, compacted=True)
        assert await found(store, "apple") == [(session, 3), (session, 2)]

    async def test_an_archived_session_is_found(self, store: WholeStore) -> None:
        session = await store.get(await begin(store, "apple"))
        await store.change(session, replace(session, archived=True))
        assert await found(store, "apple") == [(session.id, 1)]

    async def test_nothing_is_found_where_nothing_is(self, store: WholeStore) -> None:
        assert await found(store, "apple") == []
        await begin(store, "pear")
        assert await found(store, "apple") == []

    @pytest.mark.parametrize("query", ["", "  ", "!?", '""', "*", "---", "\x00", "…"])
    async def test_a_query_without_a_word_is_refused(self, store: WholeStore, query: str) -> None:
        with pytest.raises(BadInput, match="no word"):
            await store.search(Search(text=query))

    # freshness
    async def test_what_was_kept_a_moment_ago_is_found_by_everybody(self, store: WholeStore, again: WholeStore) -> None:
        session = await begin(store, "apple")
        assert await found(again, "apple") == [(session, 1)]
        await store.index()
        await say(store, session, "apple again")
        assert await found(again, "apple") == [(session, 2), (session, 1)]

    async def test_indexing_makes_no_difference_to_what_is_found(self, store: WholeStore) -> None:
        texts = (CODE, CHINESE, JAPANESE, "The red house", "x" * 100, ODD)
        session = await begin(store, *texts, asks("write_file", '{"path": "red.md"}'))
        queries = ("get_user", "错误信息", "ラーメン", '"red house"', "red", "x" * 70, "日本", "substitute")
        before = [await store.search(Search(text=query)) for query in queries]
        await store.index()
        assert [await store.search(Search(text=query)) for query in queries] == before
        assert all(hit.session == session for hits in before for hit in hits)

    async def test_indexing_again_has_nothing_to_do(self, store: WholeStore) -> None:
        await begin(store, "apple", "pear")
        await store.index()
        assert await store.index() == 0
        assert (await store.stats()).not_indexed == 0

    # filters
    async def test_hits_are_narrowed_by_role_source_and_session(self, store: WholeStore) -> None:
        cli = await begin(store, "apple", assistant("apple"))
        web = await begin(store, "apple", source="web")
        assert await found(store, "apple", roles=("assistant",)) == [(cli, 2)]
        assert await found(store, "apple", roles=("assistant", "user")) == [(web, 1), (cli, 2), (cli, 1)]
        assert await found(store, "apple", sources=("web", "matrix")) == [(web, 1)]
        assert await found(store, "apple", session=cli, roles=("user",)) == [(cli, 1)]
        assert await found(store, "apple", session=cli, sources=("web",)) == []

    async def test_hits_are_narrowed_by_what_is_known_of_their_session(self, store: WholeStore) -> None:
        ids = [await begin(store, "apple", title=f"apple {n}", model=one) for n, one in enumerate(MODELS)]
        for id_, tags, archived in ((ids[0], ("tree",), False), (ids[1], ("tree", "red"), True)):
            now = await store.get(id_)
            await store.change(now, replace(now, tags=tags, archived=archived))

        async def sessions(**asked: Any) -> list[int]:
            return sorted({ids.index(SessionId(session)) for session, _ in await found(store, "apple", **asked)})

        assert await sessions() == [0, 1, 2]
        assert await sessions(model="large") == [1, 2]
        assert await sessions(model="larg") == []
        assert await sessions(tags=("Tree",)) == [0, 1]
        assert await sessions(tags=("tree", "red")) == [1]
        assert await sessions(archived=True) == [1]
        assert await sessions(archived=False, model="large") == [2]
        assert await sessions(archived=False, tags=("tree",), roles=("user",)) == [0]

    async def test_hits_are_narrowed_by_time(self, store: WholeStore) -> None:
        session = await begin(store, *(replace(user("apple"), timestamp=at) for at in (100.0, 200.0, 300.0)))
        assert await found(store, "apple", since=200.0) == [(session, 3), (session, 2)]
        assert await found(store, "apple", until=200.0) == [(session, 1)]
        assert await found(store, "apple", since=150.0, until=300.0) == [(session, 2)]

    async def test_hits_are_narrowed_by_tool(self, store: WholeStore) -> None:
        session = await begin(
            store,
            "terminal apple",
            asks("terminal", '{"c": "apple"}'),
            answers("terminal", "apple"),
            asks("web_search", '{"q": "apple terminal"}'),
        )
        assert await found(store, "apple", tool="terminal") == [(session, 3), (session, 2)]
        assert await found(store, "apple", tool="Terminal") == [(session, 3), (session, 2)]
        assert await found(store, "apple", tool="web_search") == [(session, 4)]
        assert await found(store, "apple", tool="web") == []

    async def test_a_tool_alone_is_enough_to_look_for(self, store: WholeStore) -> None:
        session = await begin(store, "hi", asks("mcp.files/read-all"), answers("mcp.files/read-all", "done"))
        assert await found(store, "", tool="mcp.files/read-all") == [(session, 3), (session, 2)]
        await store.index()
        assert await found(store, " ", tool="mcp.files/read-all") == [(session, 3), (session, 2)]

    async def test_a_person_does_not_find_what_another_one_said(self, store: WholeStore) -> None:
        theirs = await begin(store, "apple", title="Apple pie", principal=GUEST)
        await store.index()
        assert await found(store, "apple") == []
        assert await found(store, "apple", session=theirs) == []
        assert await found(store, "apple", principal=GUEST) == [(theirs, 0), (theirs, 1)]

    # hits
    async def test_a_hit_says_where_it_is_from(self, store: WholeStore) -> None:
        session = await begin(
            store, replace(answers("terminal", "an apple a day"), timestamp=123.5), source="web", title="Fruit"
        )
        [hit] = await store.search(Search(text="apple"))
        assert (hit.session, hit.seq, hit.role, hit.timestamp) == (session, 1, "tool", 123.5)
        assert (hit.title, hit.source, hit.tool_name) == ("Fruit", "web", "terminal")
        assert (hit.snippet.text, marked(hit)) == ("an apple a day", ["apple"])

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
    async def test_a_snippet_highlights_what_was_asked_for(
        self, store: WholeStore, query: str, marks: list[str]
    ) -> None:
        await begin(store, "A blue whale, a Whale: getUser 错误信息")
        [hit] = await store.search(Search(text=query))
        assert marked(hit) == marks

    async def test_a_snippet_is_a_short_piece_around_the_hit(self, store: WholeStore) -> None:
        await begin(store, "before " * 500 + "whale\n\tand " + "after " * 500)
        [hit] = await store.search(Search(text="whale"))
        assert len(hit.snippet.text) < 250
        assert hit.snippet.text.startswith("…")
        assert hit.snippet.text.endswith("…")
        assert "\n" not in hit.snippet.text
        assert marked(hit) == ["whale"]

    async def test_the_most_recently_kept_comes_first_whatever_its_clock_says(self, store: WholeStore) -> None:
        one = await begin(store, replace(user("apple"), timestamp=900.0))
        other = await begin(store, replace(user("apple"), timestamp=100.0))
        await say(store, one, replace(user("apple"), timestamp=500.0))
        assert await found(store, "apple") == [(one, 2), (other, 1), (one, 1)]

    # pages
    @pytest.mark.parametrize("query", ["apple", '"an apple"', "title apple"])
    async def test_paging_shows_each_hit_once_and_in_order(self, store: WholeStore, query: str) -> None:
        for n in range(5):
            await begin(store, *("an apple a title" for _ in range(6)), title=f"an apple a title {n}")
            await store.index() if n == 2 else None
        whole = await store.search(Search(text=query, limit=100))
        paged: list[Hit] = []
        while page := await store.search(Search(text=query, limit=4, before=paged[-1].at if paged else None)):
            assert len(page) <= 4
            paged += page
        assert len(whole) == 35
        assert paged == whole

    async def test_a_rare_phrase_is_found_behind_many_near_misses(self, store: WholeStore) -> None:
        session = await begin(store, "red house", *("house red" for _ in range(900)))
        await store.index()
        assert await found(store, '"red house"', limit=1) == [(session, 1)]

    async def test_as_many_hits_as_asked_for(self, store: WholeStore) -> None:
        await begin(store, *("apple" for _ in range(30)), title="apple")
        assert [len(await found(store, "apple", limit=limit)) for limit in (0, 1, 2, 31, 99)] == [0, 1, 2, 31, 31]
        assert len(await found(store, "apple")) == 20

    # titles
    async def test_titles_are_found_before_messages(self, store: WholeStore) -> None:
        session = await begin(store, "apple", title="Apple pie 数据库")
        other = await begin(store, "apple")
        assert await found(store, "apple") == [(session, 0), (other, 1), (session, 1)]
        [hit] = await store.search(Search(text='"apple pie" 数据', limit=1))
        assert (hit.role, hit.title, marked(hit)) == ("title", "Apple pie 数据库", ["Apple pie", "数据"])

    async def test_titles_are_left_out_where_messages_are_meant(self, store: WholeStore) -> None:
        session = await begin(store, "pear", title="Apple pie")
        for asked in ({"roles": ("user",)}, {"tool": "terminal"}, {"session": session}, {"sources": ("web",)}):
            assert await found(store, "apple", **asked) == []
        assert await found(store, "apple", sources=("cli",)) == [(session, 0)]

    async def test_titles_are_narrowed_by_when_the_session_began(self, store: WholeStore) -> None:
        await bring(
            store, foreign("old", title="Apple", started_at=100.0), foreign("new", title="apple", started_at=200.0)
        )
        assert await found(store, "apple", since=150.0) == [("new", 0)]
        assert await found(store, "apple", until=150.0) == [("old", 0)]

    async def test_a_changed_title_is_found_by_its_new_words_only(self, store: WholeStore) -> None:
        session = await store.create(title="Apple pie")
        await retitled(store, session, "Plum cake")
        assert await found(store, "apple") == []
        assert await found(store, "plum") == [(session.id, 0)]

    async def test_a_phrase_among_many_titles_is_found(self, store: WholeStore) -> None:
        wanted = await begin(store, title="red house")
        await bring(store, *(foreign(f"s{n}", title=f"house red {n}", started_at=3e9) for n in range(250)))
        assert await found(store, '"red house"') == [(wanted, 0)]
