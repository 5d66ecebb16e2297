"""Contract: search by relevance ranks the same messages in the same order in every store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import SessionId
from sojourn.ports.store import SearchHit, SearchQuery, Store
from sojourn.testing.store_steps import GUEST, begin, find_hits, highlighted_words, hold_lease, say, tool_message
from sojourn.word_corrections import find_corrections

NOWHERE = SessionId("")


class RankedSearchContract:
    """What a search by relevance returns, and in which order."""

    @pytest.mark.parametrize(
        ("query", "fits"),
        [
            ("garden", True),
            ("gardening", True),
            ("decide", True),
            ("house decision", True),
            ("decided zebra", True),
            ("zebra", False),
            ('"red houses"', True),
            ('"houses red"', False),
            ("hous*", True),
            ("zeb* decided", False),
            ("get_user_name", True),
            ("user names", True),
            ("错误信息", True),
            ("天气", False),
            ("息", True),
        ],
    )
    async def test_words_are_found_in_other_forms_and_phrases_as_written(
        self, store: Store, query: str, fits: bool
    ) -> None:
        session = await begin(
            store, "We decided: red houses get gardens", "getUserName 请检查错误信息。", "nothing else"
        )
        for _ in range(2):
            found = await find_hits(store, query, order="relevance")
            assert ({one for one, _ in found} == {session}) == fits
            assert (session, 3) not in found
            await store.index()

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Wir haben die Häuser am Hang gestrichen, und das ist gut.", "wann haben wir das Haus gestrichen?"),
            ("Wir haben die Häuser am Hang gestrichen, und das ist gut.", "Haus"),
            ("Nous avons vendu les chevaux pour la ferme.", "cheval"),
            ("Nous avons vendu les chevaux pour la ferme.", "quand avons-nous vendu le cheval ?"),
            ("Ayer decidimos no usar la caché para las consultas.", "decidir"),
            ("Abbiamo deciso di spostare la riunione con il cliente.", "riunioni"),
            ("Não decidimos o que fazer com as tabelas.", "decidir"),
            ("Wij hebben de huizen van het dorp verkocht.", "huis"),
            ("Vi beslutade att inte ta med husen.", "beslut"),
        ],
    )
    async def test_words_of_european_languages_are_found_in_other_forms(
        self, store: Store, text: str, query: str
    ) -> None:
        session = await begin(store, text, "something else in English, and nothing more")
        for _ in range(2):
            assert (await find_hits(store, query, order="relevance"))[:1] == [(session, 1)]
            await store.index()

    async def test_more_of_the_words_and_rarer_ones_come_first(self, store: Store) -> None:
        session = await begin(store, "the pump and the valve", *("pump again" for _ in range(5)), "a valve")
        await store.index()
        found = await find_hits(store, "pump valve", order="relevance")
        assert found[:2] == [(session, 1), (session, 7)]
        assert len(found) == 7

    async def test_of_equals_the_newest_comes_first(self, store: Store) -> None:
        first, second = await begin(store, "blue whale"), await begin(store, "blue whale")
        assert await find_hits(store, "whale", order="relevance") == [(second, 1), (first, 1)]

    async def test_words_side_by_side_come_before_words_far_apart(self, store: Store) -> None:
        session = await begin(store, "redis cache", "cache it, said somebody who liked redis")
        assert (await find_hits(store, "redis cache", order="relevance"))[0] == (session, 1)

    async def test_what_was_said_counts_more_than_what_a_tool_returned(self, store: Store) -> None:
        session = await begin(store, "the parser broke", tool_message("terminal", "the parser broke"))
        assert await find_hits(store, "parser", order="relevance") == [(session, 1), (session, 2)]

    async def test_indexing_makes_no_difference_to_the_order(self, store: Store) -> None:
        texts = ("we run the tests", "tests were running", "a test of the run", "数据库连接失败", "something else")
        await begin(store, *texts, assistant("The tests run now. Why?"), title="Running tests")
        queries = ("running tests", "why did the tests run", "数据库", '"the tests"', "test*")

        async def search_all() -> list[list[SearchHit]]:
            return [await store.search(SearchQuery(text=query, order="relevance")) for query in queries]

        before = await search_all()
        await store.index()
        assert await search_all() == before
        assert all(before)

    async def test_pages_show_each_hit_once_and_in_order(self, store: Store) -> None:
        for n in range(5):
            await begin(store, *(f"an apple a pear {'apple ' * k}" for k in range(6)), title=f"apple pear {n}")
            await store.index() if n == 2 else None
        for query in ("apple", "apple pear", "apple and pear and plum"):
            whole = await store.search(SearchQuery(text=query, limit=100, order="relevance"))
            paged: list[SearchHit] = []
            while page := await store.search(
                SearchQuery(text=query, limit=4, before=paged[-1].at if paged else None, order="relevance")
            ):
                paged += page
            assert paged == whole
            assert len({(hit.session, hit.seq) for hit in whole if hit.seq}) == 30

    async def test_hits_are_narrowed_as_always(self, store: Store) -> None:
        mine = await begin(store, "apple tart", assistant("apple tarts"), tool_message("terminal", "apple"))
        theirs = await begin(store, "apple tart", source="web", principal=GUEST)

        async def found(**asked: Any) -> list[tuple[str, int]]:
            return sorted(await find_hits(store, "apple tart", order="relevance", **asked))

        for _ in range(2):
            assert await found() == [(mine, 1), (mine, 2), (mine, 3)]
            assert await found(principal=GUEST) == [(theirs, 1)]
            assert await found(roles=("assistant",)) == [(mine, 2)]
            assert await found(session=mine, roles=("user",)) == [(mine, 1)]
            assert await found(tool="terminal") == [(mine, 3)]
            assert await found(sources=("web",)) == []
            await store.index()

    async def test_the_excerpt_is_where_the_words_stand_together(self, store: Store) -> None:
        sentence = "We dropped redis because the cache ate memory."
        text = f"The cache is slow. {'Nothing of interest here. ' * 40}{sentence} {'And so on. ' * 30}"
        await begin(store, text)
        [hit] = await store.search(SearchQuery(text="why drop redis cache memory", order="relevance"))
        assert sentence[3:-1] in hit.snippet.text
        assert highlighted_words(hit) == ["dropped", "redis", "cache", "memory"]
        assert hit.score > 0

    # recall
    async def test_recall_brings_whole_texts_and_the_messages_beside_them(self, store: Store) -> None:
        session = await begin(store, "Which pump did we buy?", assistant("The grey one."), "Thanks", "bye", "far away")
        await store.index()
        hits = await store.search(SearchQuery(text="pump we bought", order="relevance", recall_in=NOWHERE))
        assert [hit.seq for hit in hits][:2] in ([1, 2], [2, 1])
        assert {hit.seq for hit in hits} == {1, 2, 3}
        assert {hit.text for hit in hits if hit.seq == 2} == {"The grey one."}
        assert {hit.session for hit in hits} == {session}

    async def test_recall_brings_of_this_session_only_what_was_summarised(self, store: Store) -> None:
        session = await begin(store, "the grey pump", "the grey pump again")
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [1], active=False, compacted=True)
        for _ in range(2):
            hits = await store.search(SearchQuery(text="grey pump", order="relevance", recall_in=session))
            assert [hit.seq for hit in hits] == [1]
            await store.index()

    @pytest.mark.parametrize("query", ["pumping", "GREY pumps", "pump_house", "décider", "错误信息", "zebra grey"])
    async def test_a_word_is_found_at_once_wherever_it_stands_in_a_message(self, store: Store, query: str) -> None:
        session = await begin(store, "nothing of it")
        await store.index()
        parts = json.dumps([{"type": "text", "text": "the grey pumps of the pumpHouse: décider 错误信息"}])
        call = [
            {"id": "1", "function": {"name": "read_file", "arguments": json.dumps({"path": "grey/décider 错误信息"})}}
        ]
        await say(
            store,
            session,
            "The Grey Pump House. Décider 错误信息",
            Message(role="user", content=parts, structured=True),
        )
        await say(store, session, Message(role="assistant", content="", tool_calls=json.dumps(call)), "nothing of it")
        before = await find_hits(store, query, order="relevance")
        await store.index()
        assert set(before) == set(await find_hits(store, query, order="relevance"))
        assert {(session, 2), (session, 3)} <= set(before)

    async def test_what_was_kept_a_moment_ago_is_ranked_too(self, store: Store, again: Store) -> None:
        session = await begin(store, "apple")
        await store.index()
        await say(store, session, "apple apple")
        assert set(await find_hits(again, "apples", order="relevance")) == {(session, 1), (session, 2)}

    async def test_a_word_that_is_nowhere_gets_the_nearest_one(self, store: Store) -> None:
        await begin(store, "We dropped redis.", "redis ate memory", "the radis tastes good")
        await begin(store, "kafka is fine", principal=GUEST)
        for _ in range(2):
            asked = SearchQuery(text="why redsi dropped")
            assert await find_corrections(store.search, asked) == {"redsi": "redis"}
            assert await find_corrections(store.search, SearchQuery(text="redis zzzzqqqq")) == {}
            assert await find_corrections(store.search, SearchQuery(text="kafak")) == {}
            assert await find_corrections(store.search, SearchQuery(text="kafak", principal=GUEST)) == {
                "kafak": "kafka"
            }
            await store.index()
