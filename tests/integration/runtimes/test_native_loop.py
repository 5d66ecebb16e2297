"""The native loop against a scripted model: what it does when things are not as they should be."""

import asyncio
import json
from typing import Any

import pytest

from sojourn.core.attachments import Attachment
from sojourn.core.errors import ContextFull, RuntimeFailed, RuntimeUnreachable, SpendingLimit
from sojourn.core.events import Chunk
from sojourn.core.messages import ToolCall, assistant, text_of, tool_calls_of, user
from sojourn.ports.runtime import SaveState
from sojourn.ports.tool import ToolResult
from sojourn.testing.model_script import Break, Call, Garbage, ModelRequest, Refuse, ReportUsage, Say
from sojourn.testing.turn_runner import (
    FakeWorkspace,
    TurnOutput,
    find_unpaired_calls,
    make_history,
    make_tool,
    make_turn_input,
    run_turn,
)
from tests.integration.runtimes.native_runtime import native


async def look(at: Any, given: Any) -> ToolResult:
    return ToolResult(text=f"saw {given.get('path')}")


LOOK = make_tool("look", look, path="where")
HEARD: list[ModelRequest] = []  # what reached the model in the last `play`


async def play(*scripts: Any, said: str = "Hello.", turn: dict[str, Any] | None = None, **given: Any) -> TurnOutput:
    async with native(*scripts, **given) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input(said, **{"tools": (LOOK,), **(turn or {})}))
        HEARD[:] = model.asked
    assert find_unpaired_calls(shown.messages) == []
    return shown


async def test_broken_arguments_are_answered_and_do_not_break_the_turn():
    shown = await play([Call("look", '{"path": "a')], [Say("Fine.")])
    assert "not a JSON object" in text_of(shown.messages[1])
    assert shown.progress("tool")[-1]["status"] == "failed"
    assert tool_calls_of(shown.messages[0])[0].arguments == '{"path": "a'
    assert shown.answers == ["Fine."]


async def test_broken_arguments_in_the_past_reach_the_model_in_some_form():
    call = ToolCall(id="x1", name="look", arguments='{"path": "a')
    shown = await play([Say("Fine.")], turn={"history": make_history(user("a"), assistant("b", [call]))})
    assert shown.error is None
    assert HEARD[0].roles() == ["system", "user", "assistant", "tool", "user"]


async def test_a_tool_that_does_not_exist_is_answered_with_those_that_do():
    shown = await play([Call("dance", {})], [Say("Fine.")])
    assert text_of(shown.messages[1]) == "There is no tool dance. Available tools: look."


async def test_a_tool_that_breaks_does_not_break_the_turn():
    async def crash(at: Any, given: Any) -> ToolResult:
        raise ZeroDivisionError("oh")

    shown = await play([Call("crash", {})], [Say("Fine.")], turn={"tools": (make_tool("crash", crash),)})
    assert text_of(shown.messages[1]) == "crash broke: ZeroDivisionError: oh."
    assert shown.answers == ["Fine."]


async def test_calls_with_the_same_id_are_kept_apart():
    twins = [Call("look", {"path": "a"}, id="c"), Call("look", {"path": "b"}, id="c")]
    shown = await play(twins, [Say("Fine.")])
    assert len({call.id for call in tool_calls_of(shown.messages[0])}) == 2
    assert sorted(text_of(one) for one in shown.messages if one.role == "tool") == ["saw a", "saw b"]


async def test_text_of_two_steps_does_not_run_together():
    shown = await play([Say("First."), Call("look", {"path": "a"})], [Say("Second.")])
    assert shown.text == "First.\n\nSecond."
    assert shown.answers == ["First.", "Second."]


async def test_what_is_said_meanwhile_reaches_the_model_between_steps():
    waiting = [("Also look at b.",), ()]
    shown = await play(
        [Call("look", {"path": "a"})], [Say("Both.")], turn={"steered": lambda: waiting.pop(0) if waiting else ()}
    )
    assert HEARD[1].last_user_text() == "Also look at b."
    assert shown.answers == ["Both."]


async def test_what_is_said_during_the_last_step_is_answered_too():
    waiting = [("And what about b?",)]
    shown = await play([Say("A.")], [Say("B.")], turn={"steered": lambda: waiting.pop(0) if waiting else ()})
    assert shown.answers == ["A.", "B."]


async def test_a_refusal_for_the_moment_is_shown_and_tried_again():
    shown = await play([Refuse(503)], [Refuse(429, "slow", {"retry-after": "0"})], [Say("At last.")])
    assert [detail["attempt"] for detail in shown.progress("queued")] == [1, 2]
    assert shown.answers == ["At last."]


async def test_a_later_step_is_tried_again_as_well():
    shown = await play([Call("look", {"path": "a"})], [Refuse(500)], [Say("Fine.")])
    assert shown.answers == ["Fine."]
    assert [message.role for message in shown.messages] == ["assistant", "tool", "assistant"]


async def test_what_was_shown_already_is_not_tried_again():
    shown = await play([Say("I was "), Break()], [Say("never asked")])
    assert isinstance(shown.error, RuntimeUnreachable)
    assert len(HEARD) == 1


async def test_a_provider_that_wants_a_long_wait_is_busy():
    shown = await play([Refuse(429, "tomorrow", {"retry-after": "3600"})], [Say("never asked")])
    assert shown.error is not None
    assert (shown.error.code, len(HEARD)) == ("rate_limited", 1)


@pytest.mark.parametrize(
    "raw",
    [
        'data: {"choices": null}\n\n',
        "data: [1, 2]\n\n",
        "data: 5\n\n",
        'data: {"error": {"message": "inner"}}\n\n',
        "data: <html>\n\n",
        'data: {"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}\n\n',
        "data: \x00\xff\n\n",
    ],
)
async def test_garbage_of_any_kind_ends_in_an_error_of_ours_or_an_answer(raw: str):
    shown = await play([Say("Well, "), Garbage(raw), Say("fine.")])
    assert shown.error is None or isinstance(shown.error, RuntimeFailed)
    assert shown.text.startswith("Well, ")


async def test_an_answer_without_a_word_is_tried_once_more():
    assert (await play([], [Say("Fine.")])).answers == ["Fine."]
    shown = await play([])
    assert isinstance(shown.error, RuntimeFailed)
    assert "empty answer" in str(shown.error)


async def test_the_last_step_may_not_call_tools():
    shown = await play([Call("look", {"path": "a"})], [Say("Enough.")], model__steps=2)
    assert HEARD[1].body["tool_choice"] == "none"
    assert shown.answers == ["Enough."]


async def test_a_spending_limit_stops_the_turn_after_a_finished_step():
    costs: list[float] = []

    def limit(cost: float) -> None:
        costs.append(cost)
        if len(costs) > 1:
            raise SpendingLimit("Enough.", hint="Raise it.")

    shown = await play([Call("look", {"path": "a"})], [Say("never")], turn={"may_spend": limit})
    assert isinstance(shown.error, SpendingLimit)
    assert [message.role for message in shown.messages] == ["assistant", "tool"]
    assert len(HEARD) == 1


async def test_usage_adds_up_and_an_unknown_price_is_none():
    shown = await play([Call("look", {"path": "a"}), ReportUsage(100, 20)], [Say("Fine."), ReportUsage(200, 5)])
    usage = shown.done[0].usage
    assert (usage["input_tokens"], usage["output_tokens"], usage["requests"], usage["tool_calls"]) == (300, 25, 2, 1)
    assert usage["cost_usd"] is None
    assert usage["context_tokens"] == 205


async def test_a_request_too_large_for_good_says_so():
    shown = await play([Refuse(400, "This model's maximum context length is 10 tokens.")])
    assert isinstance(shown.error, ContextFull)


async def test_the_key_is_never_in_an_error():
    shown = await play([Refuse(401, "bad key sk-very-secret-1234 given")], model__api_key="sk-very-secret-1234")
    assert shown.error is not None
    assert "sk-very-secret-1234" not in f"{shown.error} {shown.error.hint}"
    assert "•••" in str(shown.error)


async def test_text_and_pictures_reach_the_model_as_parts():
    picture = Attachment(hash="h1", media_type="image/png", name="p.png", size=4)
    note = Attachment(hash="h2", media_type="text/plain", name="n.txt", size=5)
    film = Attachment(hash="h3", media_type="video/mp4", name="f.mp4", size=6)
    await play([Say("Nice.")], turn={"attachments": (picture, note, film), "files": {"h1": b"\x89PNG", "h2": b"notes"}})
    content = HEARD[0].messages[-1]["content"]
    texts = " ".join(part.get("text", "") for part in content)
    assert "notes" in texts
    assert "not shown: f.mp4" in texts
    assert [part["image_url"]["url"][:22] for part in content if part["type"] == "image_url"] == [
        "data:image/png;base64,"
    ]


async def test_without_tools_old_calls_are_retold_as_text():
    call = ToolCall(id="x1", name="look", arguments='{"path": "a"}')
    history = make_history(user("look"), assistant(None, [call]), user("and?"))
    await play([Say("Fine.")], turn={"history": history, "tools": ()})
    assert HEARD[0].tools == []
    assert "[used look with" in HEARD[0].text("assistant")


async def test_it_remembers_how_the_model_counts():
    shown = await play([Say("Fine."), ReportUsage(1000, 5)])
    state = shown.of(SaveState)[0].state
    assert (state["model"], state["ratio"] > 1.0) == ("scripted-1", True)
    json.dumps(dict(state))


async def test_one_plain_question_outside_a_turn():
    async with native([Say(" A title \x1b[1m")]) as (runtime, model):
        assert await runtime.complete("Give a title.", "Long talk.", most_tokens=20) == "A title"
        assert model.asked[0].roles() == ["system", "user"]
        assert model.asked[0].body.get("max_tokens", model.asked[0].body.get("max_completion_tokens")) == 20


async def test_a_guest_is_named_as_one_and_tools_may_be_missing():
    await play([Say("Fine.")], turn={"room": FakeWorkspace(principal="guest-1"), "tools": ()})
    assert "guest" in HEARD[0].text("system")
    assert "no tools" in HEARD[0].text("system")


async def test_chunks_come_while_the_model_still_speaks():
    async with native([Say("one two three ", pause=0.05), Say("four")]) as (runtime, model):
        events = runtime.run(make_turn_input("Hello."))
        async for item in events:
            if isinstance(item, Chunk):
                assert not model.asked[0].over.is_set()
                break
        await events.aclose()


async def test_a_hundred_calls_of_one_answer_all_run_but_only_eight_at_once():
    running, most = 0, 0

    async def work(at: Any, given: Any) -> ToolResult:
        nonlocal running, most
        running, most = running + 1, max(most, running + 1)
        await asyncio.sleep(0.001)
        running -= 1
        return ToolResult(text=f"done {given['path']}")

    calls = [Call("work", {"path": str(one)}) for one in range(100)]
    shown = await play(calls, [Say("Fine.")], turn={"tools": (make_tool("work", work, path="where"),)})
    assert most == 8
    results = [text_of(one) for one in shown.messages if one.role == "tool"]
    assert sorted(results) == sorted(f"done {one}" for one in range(100))
