"""Contract: search finds the same messages in every store."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput
from sojourn.core.events import Chunk
from sojourn.core.messages import Message, assistant
from sojourn.ports.store import SearchQuery, Store
from sojourn.testing.store_steps import ODD, begin, call_message, find_hits, hold_lease, say, tool_message
from sojourn.text.tokenizer import MAX_CHARS, TOOL_HEAD_CHARS, TOOL_TAIL_CHARS

CODE = "def get_user_name(userId): return HTTPServer.parseURL('https://x.org/a-b', v2=True)"
CHINESE = "数据库连接失败，请检查错误信息。"
JAPANESE = "東京でラーメンを食べました。コンピュータも買った"


class SearchContract:
    """Words, phrases, identifiers, prefixes, and scripts without spaces."""

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
    async def test_all_words_must_be_there_in_any_order(self, store: Store, query: str, fits: bool) -> None:
        session = await begin(store, "My Garden has 42 tomatoes, naïve as I am; don't ask about the Straße")
        assert await find_hits(store, query) == ([(session, 1)] if fits else [])

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
    async def test_a_phrase_is_words_one_after_the_other(self, store: Store, query: str, fits: bool) -> None:
        await begin(store, "The red house\n stands on the hill")
        assert len(await find_hits(store, query)) == fits

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
    async def test_a_beginning_finds_what_begins_so(self, store: Store, query: str, fits: bool) -> None:
        await begin(store, "Gardens on a hill, getUserName 数据")
        assert len(await find_hits(store, query)) == fits

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
    async def test_an_identifier_is_found_however_it_is_spelled(self, store: Store, query: str, fits: bool) -> None:
        await begin(store, CODE)
        assert len(await find_hits(store, query)) == fits

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
        self, store: Store, query: str, fits: bool
    ) -> None:
        await begin(store, CHINESE)
        assert len(await find_hits(store, query)) == fits

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
    async def test_japanese_is_found_by_its_characters(self, store: Store, query: str, fits: bool) -> None:
        await begin(store, JAPANESE)
        assert len(await find_hits(store, query)) == fits

    async def test_scripts_without_spaces_and_words_are_found_together(self, store: Store) -> None:
        session = await begin(store, "用Python写的parser很快")
        for query in ("python", "parser 很快", "写的", "Python写"):
            assert await find_hits(store, query) == [(session, 1)]

    # what is searched
    async def test_messages_of_every_role_are_found_and_events_are_not(self, store: Store) -> None:
        session = await begin(
            store,
            "apple",
            assistant("apple"),
            Message(role="system", content="apple"),
            Chunk("apple"),
            tool_message("terminal", "apple"),
        )
        assert await find_hits(store, "apple") == [(session, 5), (session, 3), (session, 2), (session, 1)]

    async def test_what_a_tool_was_asked_is_found(self, store: Store) -> None:
        session = await begin(store, call_message("write_file", json.dumps({"path": "notes/tomato.md"})))
        for query in ("tomato", "write_file", "notes/tomato.md"):
            assert await find_hits(store, query) == [(session, 1)]

    async def test_structured_content_is_found_by_its_text(self, store: Store) -> None:
        parts = json.dumps([{"type": "text", "text": "blue\nwhale"}, {"type": "image", "url": "picture"}])
        session = await begin(store, Message(role="user", content=parts, structured=True))
        assert await find_hits(store, '"blue whale"') == [(session, 1)]
        assert await find_hits(store, "picture") == []

    async def test_long_tool_output_is_found_by_its_head_and_its_tail(self, store: Store) -> None:
        filler = "noise " * 50_000
        output = "headword " + filler[:TOOL_HEAD_CHARS] + " middleword " + filler[TOOL_TAIL_CHARS:] + " tailword"
        session = await begin(store, tool_message("terminal", output), output[:20_000] + " endword")
        await store.index()
        assert await find_hits(store, "headword") == [(session, 2), (session, 1)]
        assert await find_hits(store, "tailword") == [(session, 1)]
        assert await find_hits(store, "middleword") == [(session, 2)]
        assert await find_hits(store, "endword") == [(session, 2)]

    async def test_a_huge_message_is_found_by_its_beginning(self, store: Store) -> None:
        session = await begin(store, "alpha " + "x " * MAX_CHARS + "omega")
        assert await find_hits(store, "alpha") == [(session, 1)]
        assert await find_hits(store, "omega") == []

    async def test_one_endless_word_does_no_harm(self, store: Store) -> None:
        session = await begin(store, "a" * 500_000 + " tail", "数据" * 100_000, "a_b" * 100_000)
        await store.index()
        assert await find_hits(store, "a" * 64) == [(session, 1)]
        assert (session, 2) in await find_hits(store, "数据数据")

    async def test_odd_characters_do_not_stand_in_the_way(self, store: Store) -> None:
        session = await begin(store, f"before {ODD} after", replace(tool_message(ODD, ODD), role=ODD), "next\x00door")
        await store.index()
        await begin(store, "something after it")
        assert (session, 1) in await find_hits(store, "before after substitute")
        assert await find_hits(store, "door") == [(session, 3)]
        assert await find_hits(store, "日本", tool=ODD) == [(session, 2)]
        assert await find_hits(store, "日本", roles=(ODD,)) == [(session, 2)]
        assert await store.search(SearchQuery(text="x \x00 \ud800 y")) == []

    async def test_an_undone_message_is_not_found_and_a_summarised_one_is(self, store: Store) -> None:
        session = await begin(store, "apple", "apple", "apple")
        await store.index()
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [1], active=False, compacted=False)
            await store.set_flags(lease, [2], active=False, compacted=True)
        assert await find_hits(store, "apple") == [(session, 3), (session, 2)]

    async def test_an_archived_session_is_found(self, store: Store) -> None:
        session = await store.get(await begin(store, "apple"))
        await store.change(session, replace(session, archived=True))
        assert await find_hits(store, "apple") == [(session.id, 1)]

    async def test_nothing_is_found_where_nothing_is(self, store: Store) -> None:
        assert await find_hits(store, "apple") == []
        await begin(store, "pear")
        assert await find_hits(store, "apple") == []

    @pytest.mark.parametrize("query", ["", "  ", "!?", '""', "*", "---", "\x00", "…"])
    async def test_a_query_without_a_word_is_refused(self, store: Store, query: str) -> None:
        with pytest.raises(BadInput, match="no word"):
            await store.search(SearchQuery(text=query))

    # freshness
    async def test_what_was_kept_a_moment_ago_is_found_by_everybody(self, store: Store, again: Store) -> None:
        session = await begin(store, "apple")
        assert await find_hits(again, "apple") == [(session, 1)]
        await store.index()
        await say(store, session, "apple again")
        assert await find_hits(again, "apple") == [(session, 2), (session, 1)]

    async def test_indexing_makes_no_difference_to_what_is_found(self, store: Store) -> None:
        texts = (CODE, CHINESE, JAPANESE, "The red house", "x" * 100, ODD)
        session = await begin(store, *texts, call_message("write_file", '{"path": "red.md"}'))
        queries = ("get_user", "错误信息", "ラーメン", '"red house"', "red", "x" * 70, "日本", "substitute")
        before = [await store.search(SearchQuery(text=query)) for query in queries]
        await store.index()
        assert [await store.search(SearchQuery(text=query)) for query in queries] == before
        assert all(hit.session == session for hits in before for hit in hits)

    async def test_indexing_again_has_nothing_to_do(self, store: Store) -> None:
        await begin(store, "apple", "pear")
        await store.index()
        assert await store.index() == 0
        assert (await store.stats()).not_indexed == 0
