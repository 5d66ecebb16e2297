"""The contract every runtime keeps.

    class TestMine(RuntimeContract):
        @pytest.fixture
        async def rig(self):
            with ModelServer() as model:
                yield ModelRig(model, Mine(model.url), lacks={"remembers": "it keeps no state"})

What a runtime cannot be tried on is declared in the rig's `lacks`, with the reason; those tests are reported
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
from sojourn.testing.runtime_rig import COLOURED_PLAIN, GREETING, THOUGHT, Ability, Rig, Situation, check_lacks
from sojourn.testing.turns import Shown, past, run_turn, stop_turn, turn_input, unpaired

FAILURES: dict[Situation, type[RuntimeFailed]] = {
    "is unreachable": RuntimeUnreachable,
    "refuses the key": KeyRefused,
    "is busy": RateLimited,
    "has an error": RuntimeFailed,
    "dies while speaking": RuntimeUnreachable,
    "hangs": RuntimeTimeout,
    "answers garbage": RuntimeFailed,
}


def need(rig: Rig, *what: Situation | Ability) -> None:
    """Leaves the test out, with the reason the rig gives, if it lacks any of these."""
    for one in what:
        if one in rig.lacks:
            pytest.skip(f"{rig.runtime.name} lacks “{one}”: {rig.lacks[one]}")


def prepare(rig: Rig, situation: Situation, **given: Any) -> TurnInput:
    need(rig, situation)
    return turn_input(rig.arrange(situation), tools=tuple(rig.tools), **given)


async def play(rig: Rig, situation: Situation, **given: Any) -> Shown:
    """What a turn in that situation gives, which is orderly whatever happens."""
    shown = await run_turn(rig.runtime, prepare(rig, situation, **given))
    check_orderly(shown)
    return shown


def check_orderly(shown: Shown) -> None:
    """What holds for every turn, good or bad."""
    ended = [item for item in shown.items if isinstance(item, Done)]
    assert len(ended) == (0 if shown.error or shown.cancelled else 1)
    assert not ended or shown.items[-1] is ended[0]
    assert not [item for item in shown.items if isinstance(item, Metadata | Failed)]  # these are the service's
    assert all(item.stage in STAGES for item in shown.of(Progress))
    assert unpaired(shown.messages) == []
    for item in shown.of(Progress):
        json.dumps(dict(item.detail))  # it travels as JSON


def started_tool(item: RuntimeOutput) -> bool:
    return isinstance(item, Progress) and item.stage == "tool" and item.detail.get("status") == "started"


def squeezed(text: str) -> str:
    return " ".join(text.split())


class RuntimeContract:
    """Ends exactly once, stops when closed, pairs every tool call, fails cleanly."""

    def test_what_it_lacks_is_declared_with_a_reason(self, rig: Rig) -> None:
        check_lacks(rig.lacks)
        assert rig.runtime.name
        assert rig.runtime.label

    # answering
    async def test_it_answers_and_ends_once(self, rig: Rig) -> None:
        shown = await play(rig, "says")
        assert shown.error is None
        assert shown.done[0].status == "completed"
        assert squeezed(shown.text) == squeezed("\n".join(shown.answers)) != ""
        if "sees context" not in rig.lacks:
            assert squeezed(shown.text) == GREETING

    async def test_what_is_kept_is_what_was_shown(self, rig: Rig) -> None:
        shown = await play(rig, "calls a tool")
        assert squeezed(shown.text) == squeezed(" ".join(shown.answers))

    async def test_usage_is_filled_in(self, rig: Rig) -> None:
        need(rig, "usage")
        [done] = (await play(rig, "says")).done
        assert done.usage["input_tokens"] > 0
        assert done.usage["output_tokens"] > 0
        assert done.usage.get("cost_usd") != 0  # an unknown price is not a gift

    async def test_no_terminal_bytes_get_through(self, rig: Rig) -> None:
        shown = await play(rig, "says terminal bytes")
        assert squeezed(shown.text) == squeezed(COLOURED_PLAIN)
        assert squeezed(shown.answers[-1]) == squeezed(COLOURED_PLAIN)

    async def test_thinking_is_progress_and_never_text(self, rig: Rig) -> None:
        shown = await play(rig, "thinks")
        assert "".join(detail.get("text", "") for detail in shown.progress("thinking")) == THOUGHT
        assert THOUGHT not in shown.text + "".join(shown.answers)

    # tools
    async def test_a_tool_call_is_shown_run_and_paired(self, rig: Rig) -> None:
        shown = await play(rig, "calls a tool")
        assert shown.error is None
        begun, ended = shown.progress("tool")[0], shown.progress("tool")[-1]
        assert (begun["status"], ended["status"]) == ("started", "completed")
        assert begun["tool"] == ended["tool"] != ""
        assert begun["call_id"] == ended["call_id"] != ""
        assert ended["duration"] >= 0

    async def test_calls_and_results_are_kept_as_messages(self, rig: Rig) -> None:
        need(rig, "our tools")
        shown = await play(rig, "calls a tool")
        assert [message.role for message in shown.messages] == ["assistant", "tool", "assistant"]
        [call] = tool_calls_of(shown.messages[0])
        assert (call.name, json.loads(call.arguments)) == ("look_up", {"word": "sojourn"})
        assert (shown.messages[1].tool_call_id, shown.messages[1].tool_name) == (call.id, "look_up")
        assert "sojourn: a word" in text_of(shown.messages[1])
        assert call.id == shown.progress("tool")[0]["call_id"]

    async def test_two_calls_run_at_once(self, rig: Rig) -> None:
        need(rig, "our tools")
        shown = await play(rig, "calls two tools")
        results = [text_of(message) for message in shown.messages if message.role == "tool"]
        assert sorted(results) == ["Ann was met", "Bob was met"]

    async def test_a_tool_that_fails_does_not_fail_the_turn(self, rig: Rig) -> None:
        shown = await play(rig, "calls a tool that fails")
        assert shown.error is None
        assert shown.progress("tool")[-1]["status"] == "failed"
        assert shown.progress("tool")[-1]["error"]

    # stopping
    async def test_it_stops_within_a_second_when_closed(self, rig: Rig) -> None:
        turn = prepare(rig, "speaks slowly")
        async with aclosing(rig.runtime.run(turn)) as events:
            async for item in events:
                if isinstance(item, Chunk):
                    break
            began = time.monotonic()
            await events.aclose()
        assert time.monotonic() - began < 1.0
        if "closes upstream" not in rig.lacks:
            assert await asyncio.to_thread(rig.heard()[-1].gone.wait, 2)

    async def test_it_stops_within_a_second_when_cancelled(self, rig: Rig) -> None:
        turn = prepare(rig, "speaks slowly")
        shown = await stop_turn(rig.runtime, turn, lambda item: isinstance(item, Chunk))
        assert shown.cancelled
        check_orderly(shown)
        if "closes upstream" not in rig.lacks:
            assert await asyncio.to_thread(rig.heard()[-1].gone.wait, 2)

    async def test_cancelled_in_a_tool_every_call_has_a_result(self, rig: Rig) -> None:
        turn = prepare(rig, "calls a tool that never ends")
        shown = await stop_turn(rig.runtime, turn, started_tool)
        assert shown.cancelled
        check_orderly(shown)

    async def test_closed_in_a_tool_it_stops_within_a_second(self, rig: Rig) -> None:
        """A closed generator can give nothing more: results for open calls are then up to whoever closed it."""
        async with aclosing(rig.runtime.run(prepare(rig, "calls a tool that never ends"))) as events:
            async for item in events:
                if started_tool(item):
                    break
            began = time.monotonic()
            await events.aclose()
        assert time.monotonic() - began < 1.0

    # failing
    @pytest.mark.parametrize("situation", list(FAILURES))
    async def test_it_fails_cleanly_when_what_is_behind_it(self, rig: Rig, situation: Situation) -> None:
        shown = await play(rig, situation)
        assert type(shown.error) is not RuntimeFailed or FAILURES[situation] is RuntimeFailed
        assert isinstance(shown.error, FAILURES[situation])
        assert str(shown.error)
        assert shown.error.hint

    async def test_it_tries_again_when_the_model_was_busy(self, rig: Rig) -> None:
        shown = await play(rig, "is busy once")
        assert shown.error is None
        assert squeezed(shown.text) == GREETING

    async def test_it_works_again_after_a_failure(self, rig: Rig) -> None:
        need(rig, "says")
        assert (await play(rig, "answers garbage")).error is not None
        assert (await play(rig, "says")).error is None

    async def test_being_ready_is_found_out_quickly(self, rig: Rig) -> None:
        need(rig, "says")
        rig.arrange("says")
        began = time.monotonic()
        ready = await rig.runtime.ready()
        assert time.monotonic() - began < 2.0
        assert ready.ok, ready.detail

    async def test_not_being_ready_says_what_to_do(self, rig: Rig) -> None:
        need(rig, "is unreachable")
        rig.arrange("is unreachable")
        ready = await rig.runtime.ready()
        assert not ready.ok
        assert ready.detail
        assert ready.hint

    # what it is told
    async def test_blocks_reach_the_model_with_origin_and_reason(self, rig: Rig) -> None:
        need(rig, "sees context")
        block = ContextBlock(
            kind="fact",
            title="A fact",
            text="The dog is called Bello.",
            origin="your memory",
            reason="you asked for it",
        )
        await play(rig, "says", blocks=(block,))
        heard = rig.heard()[0].text()
        assert all(words in heard for words in ("The dog is called Bello.", "your memory", "asked for"))

    async def test_history_keeps_its_roles(self, rig: Rig) -> None:
        need(rig, "sees context")
        history = past(user("What is a sojourn?"), assistant("A temporary stay."), user("And a journey?"))
        await play(rig, "says", history=(*history, *past(assistant("A way there."))))
        told = [(one["role"], text) for one in rig.heard()[0].messages for text in _texts(one)]
        wanted = [
            ("user", "What is a sojourn?"),
            ("assistant", "A temporary stay."),
            ("user", "And a journey?"),
            ("assistant", "A way there."),
            ("user", "Hello there."),
        ]
        assert [one for one in wanted if any(one[0] == role and one[1] in text for role, text in told)] == wanted

    async def test_examples_reach_the_model(self, rig: Rig) -> None:
        """As tool history where the runtime takes that; else the service makes a block of them."""
        need(rig, "sees context")
        call = ToolCall(id="ex1", name="look_up", arguments='{"word": "example"}')
        if rig.runtime.takes_tool_history:
            await play(rig, "says", examples=(assistant(None, [call]), tool_result(call, "it went well")))
        else:
            block = ContextBlock(
                kind="template", title="Before", text="look_up example: it went well", origin="x", reason="y"
            )
            await play(rig, "says", blocks=(block,))
        heard = json.dumps(rig.heard()[0].body, ensure_ascii=False)
        assert "it went well" in heard
        assert "look_up" in heard

    async def test_what_it_remembers_comes_back_to_it(self, rig: Rig) -> None:
        need(rig, "remembers")
        state = (await play(rig, "says")).of(SaveState)[-1].state
        again = json.loads(json.dumps(dict(state)))
        shown = await play(rig, "says", state=again)
        assert shown.error is None

    # several at once
    async def test_two_turns_at_once_do_not_mix(self, rig: Rig) -> None:
        need(rig, "says")
        said = rig.arrange("says")
        both = await asyncio.gather(*(run_turn(rig.runtime, turn_input(said)) for _ in range(2)))
        for shown in both:
            check_orderly(shown)
            assert squeezed(shown.text) == squeezed(" ".join(shown.answers)) != ""
        if "sees context" not in rig.lacks:  # a script says the same to both
            assert both[0].answers == both[1].answers

    async def test_closing_twice_does_no_harm(self, rig: Rig) -> None:
        await rig.runtime.close()
        await rig.runtime.close()


def _texts(message: dict[str, Any]) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    return [str(part.get("text")) for part in content or [] if isinstance(part, dict) and part.get("text")]
