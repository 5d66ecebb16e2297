"""What reaches a model: the prepared context, the history and the examples, in either protocol."""

import json
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest

from sojourn.core.attachments import Attachment, user_message
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.plugins import Registry
from sojourn.ports.context import ContextBlock
from sojourn.ports.tool import ToolResult
from sojourn.runtimes.native.prompt import EXAMPLES_FOLLOW
from sojourn.runtimes.native.runtime import NativeRuntimeAdapter
from sojourn.testing.model_script import Call, ModelRequest, Say, Think
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import make_history, make_tool, make_turn_input, run_turn
from tests.integration.runtimes.native_runtime import anthropic, openai, settings

BLOCKS = (
    ContextBlock(kind="fact", title="Pets", text="The dog is Bello.", origin="your memory", reason="you said dog"),
    ContextBlock(kind="note", title="Garden", text="Water daily.", origin="notes/g.md", reason="it fits “water”"),
)
NEW = ContextBlock(kind="recall", title="Trees", text="The oak is old.", origin="session s", reason="it fits “oak”")
CALL = ToolCall(id="call_1", name="look", arguments='{"path": "a.txt"}')
EXAMPLE = ToolCall(id="template_0", name="look", arguments='{"path": "ex.txt"}')
HISTORY = make_history(
    user("Look at a."), assistant("I will.", [CALL]), tool_result(CALL, "hello"), assistant("It says hello.")
)
EXAMPLES = (
    Message(role="system", content="Template “files”: how such work was done."),
    assistant(None, [EXAMPLE]),
    tool_result(EXAMPLE, "example result"),
)


async def look(at: Any, given: Any) -> ToolResult:
    return ToolResult(text="seen")


YEAR_AGO = time.time() - 365 * 86_400
LOOK = make_tool("look", look, "Looks at a file.", path="which file")


async def sent(
    kind: AbstractContextManager[tuple[ModelServer, dict[str, Any]]], *scripts: Any, **turn: Any
) -> list[ModelRequest]:
    with kind as (model, where):
        model.play(*(scripts or ([Say("Fine.")],)))
        native = NativeRuntimeAdapter(settings(**where), Registry().load, first_wait=0.01)
        shown = await run_turn(native, make_turn_input("Go on.", **{"tools": (LOOK,), **turn}))
        await native.close()
        assert shown.error is None
        return list(model.asked)


async def test_openai_gets_every_block_with_its_origin_and_its_reason_after_the_new_message():
    [asked] = await sent(openai(), blocks=BLOCKS)
    assert asked.roles() == ["system", "user"]
    said = asked.last_user_text()
    assert said.startswith("Go on.")
    for block in BLOCKS:
        at = said.index(block.title)
        assert all(said.index(words, at) for words in (block.origin, block.reason, block.text))


@pytest.mark.parametrize("provider", [openai, anthropic])
async def test_what_a_turn_is_given_leaves_the_request_before_it_cacheable(provider):
    talk = [one for n in range(20) for one in (user(f"Question {n}? " * 20), assistant(f"Answer {n}. " * 20))]
    [first] = await sent(provider(), history=make_history(*talk), blocks=BLOCKS)
    longer = make_history(*talk, user("Go on."), assistant("Done."))
    longer = tuple(replace(past, blocks=BLOCKS) if past.seq == 41 else past for past in longer)
    [second] = await sent(provider(), history=longer, blocks=(BLOCKS[0], NEW))
    assert first.text("system") == second.text("system")
    assert second.messages[: len(first.messages)] == first.messages
    said = second.last_user_text()
    assert NEW.text in said
    assert BLOCKS[0].text not in said, "the message before has it"


async def test_a_message_with_files_and_of_another_day_goes_out_as_it_did():
    began = replace(make_turn_input("").session, started_at=YEAR_AGO)
    file = Attachment(hash="h", media_type="text/plain", name="a.txt", size=5)
    given = {"session": began, "files": {"h": b"hello"}}
    [first] = await sent(openai(), attachments=(file,), blocks=BLOCKS, **given)
    said = replace(user_message("Go on.", (file,)), timestamp=time.time())
    history = tuple(replace(past, blocks=BLOCKS) for past in make_history(said))
    [second] = await sent(openai(), history=history, blocks=BLOCKS, **given)
    assert "hello" in json.dumps(first.messages)
    assert second.messages[:2] == first.messages


async def test_the_day_of_a_later_turn_is_told_at_the_end_and_leaves_the_instructions_alone():
    today, began = (time.strftime("%A, %d %B %Y", time.localtime(at)) for at in (time.time(), YEAR_AGO))
    [at_once] = await sent(openai(), session=replace(make_turn_input("").session, started_at=time.time()))
    assert today in at_once.text("system")
    assert at_once.last_user_text() == "Go on."
    [later] = await sent(openai(), session=replace(make_turn_input("").session, started_at=YEAR_AGO))
    assert began in later.text("system")
    assert today not in later.text("system")
    assert later.last_user_text() == f"Go on.\n\n[Today is {today}.]"


async def test_a_day_is_told_once_and_stays_where_it_was_told():
    began = replace(make_turn_input("").session, started_at=YEAR_AGO)
    [first] = await sent(openai(), session=began)
    talk = replace(user("Go on."), timestamp=time.time()), assistant("Done.")
    [second] = await sent(openai(), session=began, history=make_history(*talk))
    assert second.messages[: len(first.messages)] == first.messages
    assert second.last_user_text() == "Go on."


async def test_openai_gets_the_history_in_its_roles_and_order():
    [asked] = await sent(openai(), history=HISTORY)
    assert asked.roles() == ["system", "user", "assistant", "tool", "assistant", "user"]
    call = asked.messages[2]["tool_calls"][0]
    assert (call["id"], call["function"]["name"]) == ("call_1", "look")
    assert json.loads(call["function"]["arguments"]) == {"path": "a.txt"}
    assert (asked.messages[3]["tool_call_id"], asked.messages[3]["content"]) == ("call_1", "hello")
    assert asked.last_user_text() == "Go on."


async def test_openai_gets_examples_right_after_the_system_messages():
    [asked] = await sent(openai(), history=HISTORY, examples=EXAMPLES, blocks=BLOCKS)
    assert asked.roles()[:4] == ["system", "assistant", "tool", "user"]
    assert "Template “files”" in asked.messages[0]["content"]
    assert asked.messages[1]["tool_calls"][0]["id"] == "template_0"
    assert asked.messages[2]["content"] == "example result"
    assert asked.messages[3]["content"] == "Look at a."


async def test_examples_change_nothing_else_of_the_request():
    [without], [with_them] = (
        await sent(openai(), history=HISTORY),
        await sent(openai(), history=HISTORY, examples=EXAMPLES),
    )
    before, after = without.messages, with_them.messages
    assert after[3:] == before[1:]
    assert after[0]["content"].startswith(before[0]["content"])
    assert {**without.body, "messages": None} == {**with_them.body, "messages": None}


async def test_openai_is_told_the_tools_with_their_schema():
    [asked] = await sent(openai())
    function = asked.body["tools"][0]["function"]
    assert (function["name"], function["description"]) == ("look", "Looks at a file.")
    assert function["parameters"]["properties"]["path"]["description"] == "which file"
    assert function["parameters"]["required"] == ["path"]


async def test_anthropic_gets_the_same_in_its_own_form():
    [asked] = await sent(anthropic(), history=HISTORY, blocks=BLOCKS)
    said = asked.last_user_text()
    assert all(words in said for block in BLOCKS for words in (block.text, block.origin, block.reason))
    assert asked.roles() == ["user", "assistant", "user", "assistant", "user"]
    used = next(part for part in asked.messages[1]["content"] if part["type"] == "tool_use")
    result = asked.messages[2]["content"][0]
    assert (used["id"], used["name"], used["input"]) == ("call_1", "look", {"path": "a.txt"})
    assert (result["type"], result["tool_use_id"]) == ("tool_result", "call_1")
    assert asked.headers["authorization"] == "Bearer k-1234567890"


async def test_anthropic_gets_a_marked_user_line_before_the_examples():
    [asked] = await sent(anthropic(), history=HISTORY, examples=EXAMPLES)
    assert asked.messages[0]["role"] == "user"
    assert EXAMPLES_FOLLOW in json.dumps(asked.messages[0], ensure_ascii=False)
    assert asked.messages[1]["content"][0]["id"] == "template_0"
    assert "Template “files”" in asked.text("system")


async def test_anthropic_gets_its_thoughts_back_within_the_turn():
    script = [[Think("Hm."), Call("look", {"path": "a"})], [Say("Fine.")]]
    asked = await sent(anthropic(), *script)
    assert [part["type"] for part in asked[1].messages[1]["content"]] == ["thinking", "tool_use"]


@pytest.mark.parametrize("kind", [openai, anthropic])
async def test_keys_of_other_programs_are_not_used(kind: Any, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "somebody-elses")
    [asked] = await sent(kind())
    assert "somebody-elses" not in json.dumps(dict(asked.headers))


async def test_system_rows_of_the_past_join_the_leading_one():
    rows = make_history(user("Hi."), Message(role="system", content="The person moved to Rome."), assistant("Hello."))
    [asked] = await sent(openai(), history=rows)
    assert asked.roles() == ["system", "user", "assistant", "user"]
    assert "The person moved to Rome." in asked.messages[0]["content"]
