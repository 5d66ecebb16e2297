"""Our messages and the agent library's, there and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from sojourn.core.messages import Message, ToolCall, assistant, text_of, tool_calls_of, tool_result, user
from sojourn.runtimes.native.translate import NO_RESULT, from_response, repair_messages, to_model
from sojourn.testing.turn_runner import find_unpaired_calls

texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30)
arguments = st.one_of(
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3).map(json.dumps),
    st.sampled_from(['{"path": "a', "", "[]", "nonsense", '{"a": {"b": [1, null]}}', "null"]),
)
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """What one turn leaves: something said, then answers, calls and their results."""
    number = draw(st.integers(0, 10**9))
    asked = [
        ToolCall(id=f"c{number}_{at}", name=draw(names), arguments=draw(arguments) or "{}")
        for at in range(draw(st.integers(0, 3)))
    ]
    said = draw(texts) if not asked or draw(st.booleans()) else None
    return [user(draw(texts)), assistant(said, asked), *(tool_result(call, draw(texts)) for call in asked)]


conversations = st.lists(steps(), max_size=5).map(lambda turns: [row for turn in turns for row in turn])


def shape(message: Message) -> tuple[object, ...]:
    return message.role, text_of(message), tool_calls_of(message), message.tool_call_id, message.tool_name


def back(messages: list[ModelMessage]) -> list[Message]:
    rows: list[Message] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            rows.append(from_response(message))
            continue
        for part in message.parts:
            assert isinstance(part, UserPromptPart | ToolReturnPart)
            if isinstance(part, UserPromptPart):
                rows.append(user(str(part.content)))
            else:
                call = ToolCall(id=part.tool_call_id, name=part.tool_name)
                rows.append(tool_result(call, part.model_response_str()))
    return rows


@given(conversations)
def test_roles_texts_calls_results_and_order_survive_the_way_there_and_back(rows):
    assert list(map(shape, back(to_model(rows)))) == list(map(shape, rows))


@given(conversations)
def test_a_whole_conversation_needs_no_mending(rows):
    assert list(map(shape, repair_messages(rows))) == list(map(shape, rows))


@given(conversations, st.data())
def test_whatever_is_missing_every_call_has_a_result_and_every_result_a_call(rows, data):
    left = [row for row in rows if data.draw(st.booleans())]
    whole = repair_messages(left)
    assert find_unpaired_calls(whole) == []
    said = [text_of(row) for row in left if row.role == "user"]
    assert [text_of(row) for row in whole if row.role == "user" and text_of(row) in said] == said


def test_a_call_without_a_result_gets_one_before_the_next_words():
    call = ToolCall(id="c1", name="look")
    made = repair_messages([user("a"), assistant("b", [call]), user("c")])
    assert [row.role for row in made] == ["user", "assistant", "tool", "user"]
    assert text_of(made[2]) == NO_RESULT


def test_a_result_without_a_call_stays_as_a_note():
    [made] = repair_messages([Message(role="tool", content="42", tool_name="count", tool_call_id="gone")])
    assert (made.role, made.content) == ("user", "[result of count]\n42")


@pytest.mark.parametrize("id", ["", "x" * 60, "call|7 é"])
def test_ids_that_providers_refuse_are_replaced_on_both_sides(id):
    call = ToolCall(id=id, name="look")
    asked, result = repair_messages(
        [assistant(None, [call]), Message(role="tool", content="ok", tool_call_id=id, tool_name="look")]
    )
    new = tool_calls_of(asked)[0].id
    assert new == result.tool_call_id != id
    assert new.replace("_", "").isalnum()
    assert len(new) <= 40


def test_a_name_that_providers_refuse_is_made_readable():
    made = repair_messages([assistant(None, [ToolCall(id="a", name="mcp:files.read")])])
    assert tool_calls_of(made[0])[0].name == "mcp_files_read"


def test_rows_of_other_roles_are_not_sent():
    assert to_model([Message(role="session_meta", content="x"), Message(role="system", content="")]) == []


def test_an_answer_without_words_or_calls_is_not_sent():
    [request] = to_model([user("a"), assistant(None), user("b")])
    assert isinstance(request, ModelRequest)
    assert len(request.parts) == 2


def test_thoughts_are_kept_beside_the_text_and_terminal_bytes_go():
    response = ModelResponse(
        parts=[ThinkingPart(content="hm\x1b[1m"), TextPart(content="\x1b[31mred"), ToolCallPart("look", {"a": 1}, "c1")]
    )
    message = from_response(response)
    assert (message.reasoning, message.content) == ("hm", "red")
    assert tool_calls_of(message) == (ToolCall(id="c1", name="look", arguments='{"a": 1}'),)
