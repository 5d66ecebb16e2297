"""The contract every runtime keeps.

    class TestMine(RuntimeContract):
        @pytest.fixture
        async def harness(self):
            with ModelServer() as model:
                yield ModelHarness(model, Mine(model.url), lacks={"remembers": "it keeps no state"})

What a runtime cannot be tried on is declared in the harness's `lacks`, with the reason; those tests are reported
as skipped, with that reason. Needs pytest and pytest-asyncio in its automatic mode.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing
from typing import Any

import pytest

from sojourn.core.errors import KeyRefused, RateLimited, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.events import STAGES, Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import ToolCall, assistant, text_of, tool_calls_of, tool_result, user
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import RuntimeOutput, SaveState, TurnInput
from sojourn.testing.runtime_harness import (
    COLOURED_PLAIN,
    GREETING,
    THOUGHT,
    Ability,
    RuntimeHarness,
    Situation,
    check_lacks,
)
from sojourn.testing.turn_runner import (
    TurnOutput,
    find_unpaired_calls,
    make_history,
    make_turn_input,
    run_turn,
    stop_turn,
)

FAILURES: dict[Situation, type[RuntimeFailed]] = {
    "is unreachable": RuntimeUnreachable,
    "refuses the key": KeyRefused,
    "is busy": RateLimited,
    "has an error": RuntimeFailed,
    "dies while speaking": RuntimeUnreachable,
    "hangs": RuntimeTimeout,
    "answers garbage": RuntimeFailed,
}


def need(harness: RuntimeHarness, *what: Situation | Ability) -> None:
    """Leaves the test out, with the reason the harness gives, if it lacks any of these."""
    for one in what:
        if one in harness.lacks:
            pytest.skip(f"{harness.runtime.name} lacks “{one}”: {harness.lacks[one]}")


def prepare(harness: RuntimeHarness, situation: Situation, **given: Any) -> TurnInput:
    need(harness, situation)
    return make_turn_input(harness.arrange(situation), tools=tuple(harness.tools), **given)


async def play(harness: RuntimeHarness, situation: Situation, **given: Any) -> TurnOutput:
    """What a turn in that situation gives, which is orderly whatever happens."""
    shown = await run_turn(harness.runtime, prepare(harness, situation, **given))
    check_orderly(shown)
    return shown


def check_orderly(shown: TurnOutput) -> None:
    """What holds for every turn, good or bad."""
    ended = [item for item in shown.items if isinstance(item, Done)]
    assert len(ended) == (0 if shown.error or shown.cancelled else 1)
    assert not ended or shown.items[-1] is ended[0]
    assert not [item for item in shown.items if isinstance(item, Metadata | Failed)]  # these are the service's
    assert all(item.stage in STAGES for item in shown.of(Progress))
    assert find_unpaired_calls(shown.messages) == []
    for item in shown.of(Progress):
        json.dumps(dict(item.detail))  # it travels as JSON


def started_tool(item: RuntimeOutput) -> bool:
    return isinstance(item, Progress) and item.stage == "tool" and item.detail.get("status") == "started"


def squeezed(text: str) -> str:
    return " ".join(text.split())


class RuntimeContract:
    """Ends exactly once, stops when closed, pairs every tool call, fails cleanly."""

    def test_what_it_lacks_is_declared_with_a_reason(self, harness: RuntimeHarness) -> None:
        check_lacks(harness.lacks)
        assert harness.runtime.name
        assert harness.runtime.label

    # answering
    async def test_it_answers_and_ends_once(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "says")
        assert shown.error is None
        assert shown.done[0].status == "completed"
        assert squeezed(shown.text) == squeezed("\n".join(shown.answers)) != ""
        if "sees context" not in harness.lacks:
            assert squeezed(shown.text) == GREETING

    async def test_what_is_kept_is_what_was_shown(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "calls a tool")
        assert squeezed(shown.text) == squeezed(" ".join(shown.answers))

    async def test_usage_is_filled_in(self, harness: RuntimeHarness) -> None:
        need(harness, "usage")
        [done] = (await play(harness, "says")).done
        assert done.usage["input_tokens"] > 0
        assert done.usage["output_tokens"] > 0
        assert done.usage.get("cost_usd") != 0  # an unknown price is not a gift

    async def test_no_terminal_bytes_get_through(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "says terminal bytes")
        assert squeezed(shown.text) == squeezed(COLOURED_PLAIN)
        assert squeezed(shown.answers[-1]) == squeezed(COLOURED_PLAIN)

    async def test_thinking_is_progress_and_never_text(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "thinks")
        assert "".join(detail.get("text", "") for detail in shown.progress("thinking")) == THOUGHT
        assert THOUGHT not in shown.text + "".join(shown.answers)

    # tools
    async def test_a_tool_call_is_shown_run_and_paired(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "calls a tool")
        assert shown.error is None
        begun, ended = shown.progress("tool")[0], shown.progress("tool")[-1]
        assert (begun["status"], ended["status"]) == ("started", "completed")
        assert begun["tool"] == ended["tool"] != ""
        assert begun["call_id"] == ended["call_id"] != ""
        assert ended["duration"] >= 0

    async def test_calls_and_results_are_kept_as_messages(self, harness: RuntimeHarness) -> None:
        need(harness, "our tools")
        shown = await play(harness, "calls a tool")
        assert [message.role for message in shown.messages] == ["assistant", "tool", "assistant"]
        [call] = tool_calls_of(shown.messages[0])
        assert (call.name, json.loads(call.arguments)) == ("look_up", {"word": "sojourn"})
        assert (shown.messages[1].tool_call_id, shown.messages[1].tool_name) == (call.id, "look_up")
        assert "sojourn: a word" in text_of(shown.messages[1])
        assert call.id == shown.progress("tool")[0]["call_id"]

    async def test_two_calls_run_at_once(self, harness: RuntimeHarness) -> None:
        need(harness, "our tools")
        shown = await play(harness, "calls two tools")
        results = [text_of(message) for message in shown.messages if message.role == "tool"]
        assert sorted(results) == ["Ann was met", "Bob was met"]

    async def test_a_tool_that_fails_does_not_fail_the_turn(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "calls a tool that fails")
        assert shown.error is None
        assert shown.progress("tool")[-1]["status"] == "failed"
        assert shown.progress("tool")[-1]["error"]

    # stopping
    async def test_it_stops_within_a_second_when_closed(self, harness: RuntimeHarness) -> None:
        turn = prepare(harness, "speaks slowly")
        async with aclosing(harness.runtime.run(turn)) as events:
            async for item in events:
                if isinstance(item, Chunk):
                    break
            began = time.monotonic()
            await events.aclose()
        assert time.monotonic() - began < 1.0
        if "closes upstream" not in harness.lacks:
            assert await asyncio.to_thread(harness.read_requests()[-1].gone.wait, 2)

    async def test_it_stops_within_a_second_when_cancelled(self, harness: RuntimeHarness) -> None:
        turn = prepare(harness, "speaks slowly")
        shown = await stop_turn(harness.runtime, turn, lambda item: isinstance(item, Chunk))
        assert shown.cancelled
        check_orderly(shown)
        if "closes upstream" not in harness.lacks:
            assert await asyncio.to_thread(harness.read_requests()[-1].gone.wait, 2)

    async def test_cancelled_in_a_tool_every_call_has_a_result(self, harness: RuntimeHarness) -> None:
        turn = prepare(harness, "calls a tool that never ends")
        shown = await stop_turn(harness.runtime, turn, started_tool)
        assert shown.cancelled
        check_orderly(shown)

    async def test_closed_in_a_tool_it_stops_within_a_second(self, harness: RuntimeHarness) -> None:
        """A closed generator can give nothing more: results for open calls are then up to whoever closed it."""
        async with aclosing(harness.runtime.run(prepare(harness, "calls a tool that never ends"))) as events:
            async for item in events:
                if started_tool(item):
                    break
            began = time.monotonic()
            await events.aclose()
        assert time.monotonic() - began < 1.0

    # failing
    @pytest.mark.parametrize("situation", list(FAILURES))
    async def test_it_fails_cleanly_when_what_is_behind_it(self, harness: RuntimeHarness, situation: Situation) -> None:
        shown = await play(harness, situation)
        assert type(shown.error) is not RuntimeFailed or FAILURES[situation] is RuntimeFailed
        assert isinstance(shown.error, FAILURES[situation])
        assert str(shown.error)
        assert shown.error.hint

    async def test_it_tries_again_when_the_model_was_busy(self, harness: RuntimeHarness) -> None:
        shown = await play(harness, "is busy once")
        assert shown.error is None
        assert squeezed(shown.text) == GREETING

    async def test_it_works_again_after_a_failure(self, harness: RuntimeHarness) -> None:
        need(harness, "says")
        assert (await play(harness, "answers garbage")).error is not None
        assert (await play(harness, "says")).error is None

    async def test_being_ready_is_found_out_quickly(self, harness: RuntimeHarness) -> None:
        need(harness, "says")
        harness.arrange("says")
        began = time.monotonic()
        ready = await harness.runtime.ready()
        assert time.monotonic() - began < 2.0
        assert ready.ok, ready.detail

    async def test_not_being_ready_says_what_to_do(self, harness: RuntimeHarness) -> None:
        need(harness, "is unreachable")
        harness.arrange("is unreachable")
        ready = await harness.runtime.ready()
        assert not ready.ok
        assert ready.detail
        assert ready.hint

    # what it is told
    async def test_blocks_reach_the_model_with_origin_and_reason(self, harness: RuntimeHarness) -> None:
        need(harness, "sees context")
        block = ContextBlock(
            kind="fact",
            title="A fact",
            text="The dog is called Bello.",
            origin="your memory",
            reason="you asked for it",
        )
        await play(harness, "says", blocks=(block,))
        heard = harness.read_requests()[0].text()
        assert all(words in heard for words in ("The dog is called Bello.", "your memory", "asked for"))

    async def test_history_keeps_its_roles(self, harness: RuntimeHarness) -> None:
        need(harness, "sees context")
        history = make_history(user("What is a sojourn?"), assistant("A temporary stay."), user("And a journey?"))
        await play(harness, "says", history=(*history, *make_history(assistant("A way there."))))
        told = [(one["role"], text) for one in harness.read_requests()[0].messages for text in _texts(one)]
        wanted = [
            ("user", "What is a sojourn?"),
            ("assistant", "A temporary stay."),
            ("user", "And a journey?"),
            ("assistant", "A way there."),
            ("user", "Hello there."),
        ]
        assert [one for one in wanted if any(one[0] == role and one[1] in text for role, text in told)] == wanted

    async def test_examples_reach_the_model(self, harness: RuntimeHarness) -> None:
        """As tool history where the runtime takes that; else the service makes a block of them."""
        need(harness, "sees context")
        call = ToolCall(id="ex1", name="look_up", arguments='{"word": "example"}')
        if harness.runtime.takes_tool_history:
            await play(harness, "says", examples=(assistant(None, [call]), tool_result(call, "it went well")))
        else:
            block = ContextBlock(
                kind="template", title="Before", text="look_up example: it went well", origin="x", reason="y"
            )
            await play(harness, "says", blocks=(block,))
        heard = json.dumps(harness.read_requests()[0].body, ensure_ascii=False)
        assert "it went well" in heard
        assert "look_up" in heard

    async def test_what_it_remembers_comes_back_to_it(self, harness: RuntimeHarness) -> None:
        need(harness, "remembers")
        state = (await play(harness, "says")).of(SaveState)[-1].state
        again = json.loads(json.dumps(dict(state)))
        shown = await play(harness, "says", state=again)
        assert shown.error is None

    # several at once
    async def test_two_turns_at_once_do_not_mix(self, harness: RuntimeHarness) -> None:
        need(harness, "says")
        said = harness.arrange("says")
        both = await asyncio.gather(*(run_turn(harness.runtime, make_turn_input(said)) for _ in range(2)))
        for shown in both:
            check_orderly(shown)
            assert squeezed(shown.text) == squeezed(" ".join(shown.answers)) != ""
        if "sees context" not in harness.lacks:  # a script says the same to both
            assert both[0].answers == both[1].answers

    async def test_closing_twice_does_no_harm(self, harness: RuntimeHarness) -> None:
        await harness.runtime.close()
        await harness.runtime.close()


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [str(part.get("text")) for part in content or [] if isinstance(part, dict) and part.get("text")]
