"""A conversation longer than the model can take, and how it goes on in the same session."""

from dataclasses import replace
from typing import Any

from sojourn.core.errors import ContextFull
from sojourn.core.messages import assistant, user
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import Compaction
from sojourn.ports.tool import ToolResult
from sojourn.testing.model_script import Call, ModelRequest, Refuse, Say
from sojourn.testing.turn_runner import make_history, make_tool, make_turn_input, run_turn
from tests.integration.runtimes.native_runtime import native

WORDS = "we spoke about the garden and the fig tree at some length " * 6
LONG = make_history(*(make(f"{at}: {WORDS}") for at in range(12) for make in (user, assistant)))


def summarising(asked: ModelRequest) -> bool:
    return "memory of a long conversation" in asked.text("system")


def script(asked: ModelRequest) -> list[Any]:
    return [Say("They have a fig tree.")] if summarising(asked) else [Say("Go on watering.")]


async def test_the_oldest_part_is_summarised_and_its_numbers_are_named():
    async with native(script, model__context_window=2000) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input("And now?", history=LONG))
    [compacted] = shown.of(Compaction)
    assert compacted.summary == "They have a fig tree."
    assert compacted.seqs == tuple(range(1, len(compacted.seqs) + 1))
    assert [detail["status"] for detail in shown.progress("compaction")] == ["started", "completed"]
    assert shown.answers == ["Go on watering."]
    last = model.asked[-1]
    assert "They have a fig tree." in last.text("system")
    assert last.messages[1]["content"].startswith(f"{(len(compacted.seqs)) // 2}: we spoke")
    assert shown.done[0].usage["requests"] == len(model.asked)


async def test_a_conversation_that_fits_is_left_alone():
    async with native(script, model__context_window=100_000) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input("And now?", history=LONG))
    assert shown.of(Compaction) == []
    assert len(model.asked) == 1


async def test_the_context_of_earlier_messages_goes_before_anything_is_summarised():
    facts = ContextBlock(kind="fact", title="Trees", text="The fig is old.", origin="memory", reason="you said so")
    found = replace(facts, kind="recall", text=WORDS * 12)
    history = tuple(replace(past, blocks=(facts, found) if past.seq == 1 else ()) for past in LONG[:6])
    async with native(script, model__context_window=2000) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input("And now?", history=history, blocks=(facts,)))
    assert shown.of(Compaction) == []
    [asked] = model.asked
    assert asked.messages[1]["content"] == LONG[0].message.content
    assert facts.text in asked.last_user_text(), "what went with an earlier message is said again"


async def test_a_provider_that_says_it_is_too_much_is_believed():
    refused: list[int] = []

    def strict(asked: ModelRequest) -> list[Any]:
        if not summarising(asked) and len(asked.messages) > 20:
            refused.append(1)
            return [Refuse(400, "This model's maximum context length is 900 tokens.")]
        return script(asked)

    async with native(strict, model__context_window=4000) as (runtime, _):
        shown = await run_turn(runtime, make_turn_input("And now?", history=LONG))
    assert (shown.error, len(refused), len(shown.of(Compaction))) == (None, 1, 1)


async def test_what_cannot_be_made_smaller_is_an_error_with_a_next_step():
    async with native([Refuse(400, "maximum context length exceeded")]) as (runtime, _):
        shown = await run_turn(runtime, make_turn_input("x" * 500))
    assert isinstance(shown.error, ContextFull)
    assert shown.error.hint


async def test_long_results_of_this_turn_are_shortened_for_the_model_only():
    async def flood(at: Any, given: Any) -> ToolResult:
        return ToolResult(text="water " * 700)

    scripts = [[Call("flood", {})], [Call("flood", {})], [Call("flood", {})], [Say("Enough.")]]
    async with native(*scripts, model__context_window=2500) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input("Flood it.", tools=(make_tool("flood", flood),)))
    assert shown.answers == ["Enough."]
    assert "shortened" in model.asked[-1].text("tool")
    assert all(len(one.content or "") > 4000 for one in shown.messages if one.role == "tool")
