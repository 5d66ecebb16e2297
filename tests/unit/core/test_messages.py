"""A message and its readable views."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.messages import (
    Message,
    ToolCall,
    assistant,
    dump_calls,
    parts_of,
    text_of,
    tool_calls_of,
    tool_result,
    user,
)

DEEP = pytest.param("[" * 100_000, id="deep")
tool_calls = st.lists(
    st.builds(ToolCall, id=st.text(min_size=1), name=st.text(min_size=1), arguments=st.text(min_size=1))
)


@given(tool_calls)
def test_tool_calls_come_back_from_the_shape_they_are_kept_in(some):
    assert list(tool_calls_of(assistant("x", some))) == some


def test_tool_calls_are_kept_in_the_shape_other_programs_read():
    kept = json.loads(dump_calls([ToolCall(id="c1", name="terminal", arguments='{"a": 1}')]) or "")
    assert kept == [{"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"a": 1}'}}]
    assert dump_calls([]) is None


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ([{"id": "1", "function": {"name": "a", "arguments": "{}"}}], [("1", "a", "{}")]),
        ([{"id": "1", "name": "a", "arguments": {"b": "é"}}], [("1", "a", '{"b": "é"}')]),
        ([{"name": "a"}], [("", "a", "{}")]),
        ([{"function": {"name": "a"}}, {"id": "2"}, "odd", None, {"name": 7}], [("", "a", "{}")]),
        ({"name": "a"}, []),
        (None, []),
        (7, []),
    ],
)
def test_every_kept_shape_is_understood_and_what_has_no_name_is_left_out(kept, read):
    message = Message(role="assistant", tool_calls=json.dumps(kept))
    assert [(call.id, call.name, call.arguments) for call in tool_calls_of(message)] == read


@pytest.mark.parametrize(
    "kept", ["", "not json", DEEP, pytest.param("[1" + "0" * 5000 + "]", id="huge number"), '{"a"']
)
def test_tool_calls_that_cannot_be_read_are_none(kept):
    assert tool_calls_of(Message(role="assistant", tool_calls=kept)) == ()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "input_text", "input_text": "a"}, {"type": "image", "url": "x"}], "a\n[image]"),
        (["a", {"content": "b"}, {"odd": 1}, 7, None], "a\nb\n[part]\n7\nnull"),
        ({"type": "text", "text": "alone"}, "alone"),
        ("just text", "just text"),
        ([], ""),
    ],
)
def test_structured_content_reads_as_its_text_parts(content, text):
    assert text_of(Message(role="user", content=json.dumps(content), structured=True)) == text


@pytest.mark.parametrize("content", ["not json", DEEP])
def test_structured_content_that_cannot_be_read_is_shown_as_it_is(content):
    message = Message(role="user", content=content, structured=True)
    assert parts_of(message) == [{"type": "text", "text": content}]
    assert text_of(message) == content


@given(st.text())
def test_plain_content_is_one_text_part(text):
    assert parts_of(user(text)) == [{"type": "text", "text": text}]
    assert text_of(user(text)) == text


def test_what_is_missing_reads_as_nothing():
    assert parts_of(assistant(None)) == []
    assert text_of(assistant(None)) == ""
    assert tool_calls_of(user("x")) == ()


def test_messages_are_built_by_who_speaks():
    call = ToolCall(id="c1", name="terminal")
    assert (user("hi").role, user("hi").extra) == ("user", None)
    assert json.loads(user("hi", by="phone").extra or "") == {"by": "phone"}
    answer = tool_result(call, "done", finish_reason="stop")
    assert (answer.role, answer.tool_call_id, answer.tool_name, answer.finish_reason) == (
        "tool",
        "c1",
        "terminal",
        "stop",
    )
