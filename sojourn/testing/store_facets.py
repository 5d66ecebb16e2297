"""Contract: lists are filtered by program, project, model and tool, and say how many sessions each value has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.core.messages import Message
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Listing, SearchQuery, Store
from sojourn.testing.store_steps import GUEST, begin, call_message, ingest, make_transcript, say, tool_message


async def _find(store: Store, **filters: Any) -> set[SessionId]:
    found = {session.id for session in await store.find(Listing(**filters))}
    assert await store.count(Listing(**filters)) == len(found)
    return found


async def _make_world(store: Store) -> tuple[SessionId, SessionId, SessionId]:
    """Two sessions of ours and an imported one."""
    first = await begin(store, "hi", call_message("terminal"), source="cli", model="gpt-5", cwd="/garden")
    second = await begin(store, "docs", call_message("patch"), source="web", model="claude", cwd="/garden")
    found = await store.get(second)
    await store.change(found, replace(found, tags=("work", "late")))
    transcript = make_transcript("old", "hello", tool_message("terminal", "ok"), model="gpt-5", source="telegram")
    [imported] = await ingest(store, transcript)
    assert imported.session is not None
    return first, second, imported.session


class FacetsContract:
    """Facets are columns of the session, so that no message is read for them."""

    async def test_a_session_knows_the_program_it_came_from(self, store: Store) -> None:
        first, _, imported = await _make_world(store)
        assert (await store.get(first)).program == "sojourn"
        found = await store.get(imported)
        assert (found.program, found.source) == ("hermes", "telegram")

    async def test_a_filter_with_several_values_takes_any_of_them(self, store: Store) -> None:
        first, second, imported = await _make_world(store)
        assert await _find(store, programs=("hermes",)) == {imported}
        assert await _find(store, projects=("/garden",)) == {first, second}
        assert await _find(store, models=("gpt-5", "claude")) == {first, second, imported}
        assert await _find(store, tools=("terminal",)) == {first, imported}
        assert await _find(store, tools=("terminal", "patch"), programs=("sojourn",)) == {first, second}
        assert await _find(store, tools=("termina",)) == set()
        assert await _find(store, tools=("%",)) == set()

    async def test_searches_have_the_same_filters(self, store: Store) -> None:
        _, _, imported = await _make_world(store)
        hits = await store.search(SearchQuery(text="hello", programs=("hermes",), tools=("terminal",)))
        assert {hit.session for hit in hits} == {imported}
        assert await store.search(SearchQuery(text="hello", models=("claude",))) == []

    async def test_facets_count_the_sessions_of_each_value(self, store: Store) -> None:
        await _make_world(store)
        found = await store.count_facets(Listing())
        assert found["program"] == {"sojourn": 2, "hermes": 1}
        assert found["source"] == {"cli": 1, "web": 1, "telegram": 1}
        assert found["project"] == {"/garden": 2}
        assert found["model"] == {"gpt-5": 2, "claude": 1}
        assert found["tool"] == {"terminal": 2, "patch": 1}
        assert found["tag"] == {"work": 1, "late": 1}
        assert sum(found["month"].values()) == 3
        assert "1970-01" in found["month"]

    async def test_sessions_that_are_alike_are_all_counted(self, store: Store) -> None:
        for _ in range(3):
            await begin(store, "the same", model="gpt-5")
        found = await store.count_facets(Listing())
        assert (found["model"], found["source"], sum(found["month"].values())) == ({"gpt-5": 3}, {"cli": 3}, 3)
        assert (await store.count_facets(Listing(models=("claude",))))["model"] == {"gpt-5": 3}

    async def test_a_choice_limits_the_other_facets_and_not_its_own(self, store: Store) -> None:
        await _make_world(store)
        found = await store.count_facets(Listing(models=("gpt-5",)))
        assert found["model"] == {"gpt-5": 2, "claude": 1}
        assert found["program"] == {"sojourn": 1, "hermes": 1}
        assert found["tag"] == {}
        both = await store.count_facets(Listing(models=("gpt-5",), programs=("hermes",)))
        assert (both["model"], both["program"]) == ({"gpt-5": 1}, {"sojourn": 1, "hermes": 1})

    async def test_facets_respect_everything_else_that_a_list_does(self, store: Store) -> None:
        first, _, _ = await _make_world(store)
        await begin(store, "of a guest", principal=GUEST, model="secret-model")
        found = await store.get(first)
        await store.change(found, replace(found, archived=True))
        assert (await store.count_facets(Listing()))["model"] == {"claude": 1, "gpt-5": 1}
        assert (await store.count_facets(Listing(archived=True)))["model"] == {"gpt-5": 1}
        assert (await store.count_facets(Listing(principal=GUEST)))["model"] == {"secret-model": 1}

    async def test_tools_are_known_however_their_messages_come(self, store: Store) -> None:
        session = await begin(store, "one")
        await say(store, session, "two")
        await say(store, session, call_message("web_fetch"))
        await say(store, session, call_message("web_fetch"), tool_message("odd, name", "x"))
        await say(store, session, Message(role="assistant", tool_calls="[null, 7, {}]"))
        assert (await store.count_facets(Listing()))["tool"] == {"web_fetch": 1, "odd  name": 1}

    async def test_sub_agents_can_be_left_out(self, store: Store) -> None:
        parent = await begin(store, "do it")
        child = await store.create(source="subagent", parent=parent)
        assert await _find(store, subagents=False) == {parent}
        assert await _find(store) == {parent, child.id}
