"""Contract: sessions as a surface sees them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.events import Metadata
from sojourn.core.messages import assistant
from sojourn.ports.service import Service, TurnRequest
from sojourn.ports.store import Listing, SearchQuery
from sojourn.testing.scripted_runtime import Emit, ScriptedRuntime
from sojourn.testing.service_steps import GUEST, ME, NOBODY, ended, of, opened, talk, transcript


class ServiceSessionsContract:
    async def test_a_session_is_opened_as_asked(self, service: Service) -> None:
        session = await service.open(ME, title="Garden", model="m-1", runtime="other", cwd="/tmp")
        assert (session.title, session.model, session.cwd, session.source) == ("Garden", "m-1", "/tmp", "cli")
        [metadata] = of(Metadata, await talk(service, session.id, "hello"))
        assert (metadata.runtime, metadata.model) == ("other", "m-1")

    async def test_a_session_with_an_unknown_runtime_is_not_opened(self, service: Service) -> None:
        with pytest.raises(NotFound):
            await service.open(ME, runtime="no_such_runtime")
        assert await service.find(Listing()) == []

    async def test_a_model_stays_with_its_runtime(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "one", model="m-1")
        kept = [await talk(service, session, "two"), await talk(service, session, "three", runtime="other")]
        assert [of(Metadata, one)[0].model for one in kept] == ["m-1", ""]

    async def test_a_new_session_gets_its_title_from_the_first_request(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "Plan the vegetable garden, please.\nWith tomatoes.")
        assert (await service.get(session)).title == "Plan the vegetable garden, please"
        await talk(service, session, "Something else")
        assert (await service.get(session)).title == "Plan the vegetable garden, please"

    async def test_two_sessions_that_begin_alike_have_two_titles(self, service: Service) -> None:
        sessions = [await opened(service) for _ in range(3)]
        for session in sessions:
            await talk(service, session, "hello")
        assert sorted([str((await service.get(one)).title) for one in sessions]) == ["hello", "hello (2)", "hello (3)"]

    async def test_a_title_that_was_given_stays(self, service: Service) -> None:
        session = await opened(service, title="Mine")
        await talk(service, session, "hello")
        assert (await service.get(session)).title == "Mine"

    async def test_undo_hides_the_last_request_and_what_came_of_it(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        await talk(service, session, "one")
        await talk(service, session, "two")
        assert await service.undo(session, ME) == 2
        assert await transcript(service, session) == [("user", "one"), ("assistant", "one")]
        await talk(service, session, "three")
        assert [one.message.content for one in runtime.seen[-1].history] == ["one", "one"]

    async def test_undo_of_nothing_is_nothing(self, service: Service) -> None:
        assert await service.undo(await opened(service), ME) == 0

    async def test_an_attachment_reaches_the_runtime(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        one = await service.attach(session, b"a,b\n1,2\n", media_type="text/csv", name="t.csv")
        assert (one.size, one.name, one.media_type) == (8, "t.csv", "text/csv")
        await talk(service, session, "look", attachments=(one,))
        told = runtime.seen[-1]
        assert told.attachments == (one,)
        assert await told.read_attachment(one) == b"a,b\n1,2\n"

    async def test_an_attachment_of_another_session_is_not_there(self, service: Service) -> None:
        one = await service.attach(await opened(service), b"secret", media_type="text/plain")
        with pytest.raises(NotFound):
            await service.say(await opened(service), TurnRequest(text="look", attachments=(one,)), ME)

    async def test_reading_finds_what_was_said(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "the marmalade recipe")
        assert (await service.resolve(session[:-1])).id == session
        assert [one.id for one in await service.find(Listing(text="marmalade"))] == [session]
        assert {hit.session for hit in await service.search(SearchQuery(text="marmalade"))} == {session}
        with pytest.raises(NotFound):
            await service.get(NOBODY)

    async def test_a_search_is_narrowed_by_tag_archive_and_tool(self, service: Service) -> None:
        first, second = await opened(service), await opened(service)
        for session in (first, second):
            await talk(service, session, "the marmalade recipe")
        found = await service.get(first)
        await service.change(found, replace(found, tags=("jam",), archived=True))
        for query, wanted in (
            (SearchQuery(text="marmalade", tags=("jam",)), {first}),
            (SearchQuery(text="marmalade", archived=False), {second}),
            (SearchQuery(text="marmalade", model="unknown"), set()),
            (SearchQuery(text="", tool="unknown"), set()),
        ):
            assert {hit.session for hit in await service.search(query)} == wanted

    async def test_a_change_is_kept(self, service: Service) -> None:
        session = await service.open(ME)
        changed = await service.change(session, replace(session, title="New", pinned=True))
        assert (await service.get(session.id)).title == changed.title == "New"

    async def test_a_session_goes_into_the_trash_and_comes_back(self, service: Service) -> None:
        session = await service.get(await opened(service, title="Mine"))
        gone = await service.change(session, replace(session, trashed_at=5.0))
        assert gone.trashed_at is not None
        assert await service.find(Listing()) == []
        assert [one.id for one in await service.find(Listing(trashed=True))] == [session.id]
        assert (await service.change(gone, replace(gone, trashed_at=None))).trashed_at is None
        assert [one.id for one in await service.find(Listing(subagents=False))] == [session.id]

    async def test_a_branch_goes_on_from_a_message(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        await talk(service, session, "one", runtime="other", model="m-1")
        await talk(service, session, "two")
        first = [kept.seq for kept in await service.messages(session)][1]
        made = await service.branch(session, first, ME)
        assert (made.branched_from, made.copied, made.driver) == (f"{session}:{first}", 2, None)
        [metadata] = of(Metadata, await talk(service, made.id, "otherwise"))
        assert (metadata.runtime, metadata.model) == ("other", "m-1")
        assert len(await service.messages(made.id)) == 4
        assert len(await service.messages(session)) == 4
        with pytest.raises(NotFound):
            await service.branch(session, 1, GUEST)

    async def test_lists_are_filtered_by_what_sessions_are_made_of(self, service: Service) -> None:
        first = await service.open(ME, title="a", model="m-1", cwd="/garden")
        await service.open(ME, title="b", model="m-2", cwd="/house")
        for filters in (
            {"models": ("m-1", "m-9")},
            {"projects": ("/garden",)},
            {"text": "a", "programs": ("sojourn",)},
        ):
            assert [one.id for one in await service.find(Listing(**filters))] == [first.id], filters
        assert await service.find(Listing(tools=("terminal",))) == []

    async def test_a_guest_has_sessions_of_their_own(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service, GUEST)
        assert ended(await talk(service, session, "hello", by=GUEST)) == ("completed", [])
        assert runtime.seen[-1].workspace.principal == "guest"
        assert await service.find(Listing()) == []
        assert (await service.get(session)).principal == "guest"

    async def test_runtimes_are_listed_with_the_default(self, service: Service) -> None:
        found = {one.name: one for one in await service.runtimes()}
        assert {"scripted", "other"} <= set(found)
        assert (found["scripted"].ok, found["scripted"].models) == (True, ("scripted-1",))
        assert [one.name for one in found.values() if one.default] == ["scripted"]

    async def test_a_message_of_a_runtime_is_kept_whole(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        odd = "tab\t, line\n, 日本 👋, \x00"
        runtime.on("odd", Emit(assistant(odd)))
        await talk(service, session, "odd")
        assert (await transcript(service, session))[-1] == ("assistant", odd)
