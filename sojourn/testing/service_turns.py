"""Contract: the life of a turn, from what is said to exactly one `done`."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from sojourn.core.errors import BadInput, Conflict, NotFound, RateLimited
from sojourn.core.events import CONTRACT_VERSION, Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import Message, ToolCall, assistant
from sojourn.ports.runtime import Compaction, Observation, SaveState
from sojourn.ports.service import Service, TurnRequest
from sojourn.testing.scripted_runtime import (
    CallTool,
    Emit,
    EmitFrom,
    EndWithoutDone,
    Fail,
    PauseGate,
    SayText,
    ScriptedRuntime,
)
from sojourn.testing.service_steps import (
    ME,
    NOBODY,
    ended,
    follow,
    join_chunks,
    of,
    opened,
    stages,
    talk,
    transcript,
    unpaired,
)


class ServiceTurnsContract:
    # the shape
    async def test_a_turn_begins_with_metadata_and_ends_with_one_done(self, service: Service) -> None:
        session = await opened(service)
        kept = await talk(service, session, "hello dear world")
        first = kept[0].item
        assert isinstance(first, Metadata)
        assert (first.session_id, first.turn_id, first.runtime) == (session, kept[0].turn, "scripted")
        assert (first.contract, len(of(Metadata, kept))) == (CONTRACT_VERSION, 1)
        assert ended(kept) == ("completed", [])
        assert join_chunks(kept) == "hello dear world"

    async def test_what_was_said_is_kept_when_say_returns(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        runtime.on("hello", PauseGate("never"))
        await service.say(session, TurnRequest(text="hello"), ME)
        assert await transcript(service, session) == [("user", "hello")]

    async def test_done_names_the_messages_and_what_they_cost(self, service: Service) -> None:
        session = await opened(service)
        [done] = of(Done, await talk(service, session, "hello"))
        assert done.messages == tuple(one.public_id for one in await service.messages(session))
        assert (done.usage["input_tokens"], done.usage["output_tokens"]) == (7, 5)
        assert done.usage["seconds"] >= 0

    async def test_preparing_and_dispatching_are_shown_before_the_answer(self, service: Service) -> None:
        kept = await talk(service, await opened(service), "hello")
        events = [one.item for one in kept if not isinstance(one.item, Message)]
        order = [one.stage if isinstance(one, Progress) else one.name for one in events]
        assert order == ["metadata", "prepare", "running", "chunk", "done"]

    async def test_numbers_grow_and_only_chunks_that_were_folded_leave_gaps(self, service: Service) -> None:
        kept = await talk(service, await opened(service), "one two three")
        numbers, chunks = [one.seq for one in kept], {one.seq for one in kept if isinstance(one.item, Chunk)}
        assert numbers == sorted(set(numbers))
        assert all(here == before + 1 or here in chunks for before, here in pairwise([0, *numbers]))
        assert len({one.turn for one in kept}) == 1

    # failures
    async def test_an_error_of_ours_is_told_once_with_the_next_step(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("hello", SayText("Well", kept=False), Fail(RateLimited("Too fast.", hint="Wait a minute.")))
        kept = await talk(service, session, "hello")
        assert of(Failed, kept) == [Failed("rate_limited", "Too fast.", "Wait a minute.", True)]
        assert ended(kept) == ("failed", ["rate_limited"])
        assert await transcript(service, session) == [("user", "hello"), ("assistant", "Well")]

    @pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), NotFound("No file.", hint="Make it.")])
    async def test_whatever_a_runtime_raises_fails_the_turn_and_nothing_else(
        self, service: Service, runtime: ScriptedRuntime, error: Exception
    ) -> None:
        session = await opened(service)
        runtime.on("break", Fail(error))
        status, codes = ended(await talk(service, session, "break"))
        assert (status, codes) == ("failed", [getattr(error, "code", "runtime_failed")])
        assert ended(await talk(service, session, "go on")) == ("completed", [])

    async def test_a_runtime_that_says_it_failed_is_believed(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        runtime.on("a", Emit(Failed("key_refused", "No.", "Get a key.")), SayText("never said"))
        runtime.on("b", Emit(Done(status="failed")))
        kept = await talk(service, session, "a")
        assert (ended(kept), join_chunks(kept)) == (("failed", ["key_refused"]), "")
        assert ended(await talk(service, session, "b")) == ("failed", ["runtime_failed"])

    async def test_a_missing_done_is_an_end_after_an_answer_and_a_failure_without(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("a", SayText("yes"), EndWithoutDone())
        runtime.on("b", EndWithoutDone())
        assert ended(await talk(service, session, "a")) == ("completed", [])
        assert ended(await talk(service, session, "b")) == ("failed", ["runtime_failed"])

    async def test_what_comes_after_done_is_not_kept(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        runtime.on("hello", SayText("yes"), Emit(Done()), SayText("too late"))
        kept = await talk(service, session, "hello")
        assert (ended(kept), join_chunks(kept)) == (("completed", []), "yes")
        assert await transcript(service, session) == [("user", "hello"), ("assistant", "yes")]

    async def test_what_cannot_be_told_fails_the_turn_and_nothing_else(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("a", Emit(Progress("tool", {"line": object()})), SayText("yes"))
        runtime.on("b", SayText("yes"), Emit(Done(usage={"tokens": object()})))
        for text in ("a", "b"):
            assert ended(await talk(service, session, text)) == ("failed", ["runtime_failed"])
        assert ended(await talk(service, session, "go on")) == ("completed", [])

    async def test_a_second_metadata_is_left_out(self, service: Service, runtime: ScriptedRuntime) -> None:
        runtime.on("hello", Emit(Metadata(runtime="me")), SayText("yes"))
        kept = await talk(service, await opened(service), "hello")
        assert [one.runtime for one in of(Metadata, kept)] == ["scripted"]

    # the transcript
    async def test_shown_words_without_a_message_become_one(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        runtime.on("hello", SayText("only shown", kept=False))
        [done] = of(Done, await talk(service, session, "hello"))
        assert await transcript(service, session) == [("user", "hello"), ("assistant", "only shown")]
        assert len(done.messages) == 2

    async def test_every_call_is_paired_also_when_the_turn_fails(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        both = assistant(None, [ToolCall(id="a", name="read"), ToolCall(id="b", name="write")])
        runtime.on("hello", Emit(both), Fail(OSError("gone")))
        assert ended(await talk(service, session, "hello"))[0] == "failed"
        assert await unpaired(service, session) == []
        assert [role for role, _ in await transcript(service, session)] == ["user", "assistant", "tool", "tool"]

    async def test_a_call_the_runtime_forgot_is_paired_before_the_next_words(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("hello", Emit(assistant(None, [ToolCall(id="a", name="read")])), SayText("so"))
        await talk(service, session, "hello")
        assert [role for role, _ in await transcript(service, session)] == ["user", "assistant", "tool", "assistant"]
        assert await unpaired(service, session) == []

    async def test_a_tool_that_is_not_there_is_told_to_the_runtime(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("hello", CallTool("no_such_tool"), SayText("I cannot."))
        kept = await talk(service, session, "hello")
        assert [one["status"] for one in stages(kept, "tool")] == ["started", "failed"]
        assert await unpaired(service, session) == []

    async def test_a_runtime_is_told_the_conversation_so_far(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        await talk(service, session, "first")
        await talk(service, session, "second")
        told = runtime.seen[-1]
        assert (told.said, told.session.id) == ("second", session)
        assert [(one.message.role, one.message.content) for one in told.history] == [
            ("user", "first"),
            ("assistant", "first"),
        ]

    # runtimes
    async def test_another_runtime_goes_on_with_the_same_transcript(
        self, service: Service, other: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        await talk(service, session, "first")
        kept = await talk(service, session, "second", runtime="other")
        assert of(Metadata, kept)[0].runtime == "other"
        assert [one.message.content for one in other.seen[-1].history] == ["first", "first"]
        assert of(Metadata, await talk(service, session, "third"))[0].runtime == "other"

    async def test_what_a_runtime_remembers_is_its_own(
        self, service: Service, runtime: ScriptedRuntime, other: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("keep", Emit(SaveState({"at": 1})), SayText("ok"))
        other.on("keep", Emit(SaveState({"elsewhere": True})), SayText("ok"))
        await talk(service, session, "keep")
        await talk(service, session, "keep", runtime="other")
        await talk(service, session, "and", runtime="scripted")
        assert (runtime.seen[-1].state, other.seen[-1].state) == ({"at": 1}, {})

    async def test_observations_are_not_part_of_the_answer(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        runtime.on("hello", Emit(Observation("trace", {"secret": "plan"})), SayText("yes"))
        kept = await talk(service, session, "hello")
        assert "plan" not in repr(kept)
        assert await transcript(service, session) == [("user", "hello"), ("assistant", "yes")]

    async def test_a_summary_stands_in_the_place_of_what_it_replaced(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on(
            "sum up",
            EmitFrom(lambda turn: Compaction(seqs=tuple(one.seq for one in turn.history[:2]), summary="S")),
            SayText("done"),
        )
        kept = [await talk(service, session, text) for text in ("one", "two", "sum up", "and now")]
        assert [one.message.content for one in runtime.seen[-1].history] == ["S", "two", "two", "sum up", "done"]
        [told] = stages(kept[2], "compaction")
        assert told["messages"] == 2
        assert [one.item.compacted for one in await service.messages(session) if isinstance(one.item, Message)][:3] == [
            True,
            True,
            False,
        ]

    # refusals
    async def test_a_runtime_that_is_not_there_is_refused_and_nothing_is_kept(self, service: Service) -> None:
        session = await opened(service)
        with pytest.raises(NotFound, match="no_such_runtime"):
            await service.say(session, TurnRequest(text="hello", runtime="no_such_runtime"), ME)
        assert await transcript(service, session) == []

    async def test_nothing_said_and_nobody_there_are_refused(self, service: Service) -> None:
        session = await opened(service)
        with pytest.raises(BadInput):
            await service.say(session, TurnRequest(text=" \n"), ME)
        with pytest.raises(NotFound):
            await service.say(NOBODY, TurnRequest(text="hello"), ME)

    # the same request twice
    async def test_the_same_key_starts_one_turn(self, service: Service) -> None:
        session = await opened(service)
        first = await service.say(session, TurnRequest(text="hello", key="k1"), ME)
        await follow(service, first)
        assert await service.say(session, TurnRequest(text="hello", key="k1"), ME) == first
        assert await service.say(session, TurnRequest(text="hello", key="k2"), ME) != first

    async def test_the_same_key_at_the_same_time_starts_one_turn(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        said = TurnRequest(text="hello", key="k")
        turns = await asyncio.gather(*(one.say(session, said, ME) for one in (service, again) * 4))
        assert len({turn.id for turn in turns}) == 1
        await follow(service, turns[0])
        assert len(runtime.seen) == 1

    async def test_a_key_is_not_used_for_other_words(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "hello", key="k")
        with pytest.raises(Conflict):
            await service.say(session, TurnRequest(text="something else", key="k"), ME)

    # many
    async def test_fifty_sessions_at_once_do_not_mix(self, service: Service, runtime: ScriptedRuntime) -> None:
        sessions = [await opened(service) for _ in range(50)]
        texts = [f"session {at} says {'x' * at}" for at in range(50)]
        for text in texts:
            runtime.on(text, SayText(text.upper()), CallTool("none"), SayText(text))
        heard = await asyncio.gather(*(talk(service, *pair) for pair in zip(sessions, texts, strict=True)))
        for session, text, kept in zip(sessions, texts, heard, strict=True):
            assert join_chunks(kept) == text.upper() + text
            assert {one.session for one in kept} == {session}
            assert ended(kept) == ("completed", [])

    async def test_a_long_answer_arrives_whole_and_in_order(self, service: Service, runtime: ScriptedRuntime) -> None:
        text = " ".join(str(number) for number in range(2000))
        runtime.on("count", SayText(text))
        kept = await talk(service, await opened(service), "count")
        assert join_chunks(kept) == text
