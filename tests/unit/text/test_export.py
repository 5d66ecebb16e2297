import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.messages import Message, ToolCall, assistant, is_internal, tool_result, user
from sojourn.core.sessions import Recorded, Session, SessionId
from sojourn.text.export import fence, to_markdown
from sojourn.text.html_export import to_html
from sojourn.text.jsonl_export import to_jsonl
from sojourn.text.transcript import SpokenText, ToolExchange, fold_messages, summarize_answer, summarize_call

ID = SessionId("s1")
LS = ToolCall(id="c1", name="terminal", arguments='{"command": "ls"}')
CAT = ToolCall(id="c2", name="read_file", arguments='{"path": "a"}')


def kept(*messages: Message) -> list[Recorded]:
    return [Recorded(session=ID, seq=n, at=1.7e9 + n, item=message) for n, message in enumerate(messages, 1)]


def told(*messages: Message) -> list[str]:
    """Each piece in a word."""
    return [
        f"{p.message.role}: {p.text}" if isinstance(p, SpokenText) else f"{p.call.name} → {summarize_answer(p.answer)}"
        for p in fold_messages(kept(*messages))
    ]


def test_a_call_stands_with_its_answer_whatever_the_order():
    assert told(
        user("look"), assistant("I look.", [LS, CAT]), tool_result(CAT, "hello"), tool_result(LS, "a\nb\nc"), user("ok")
    ) == ["user: look", "assistant: I look.", "read_file → hello", "terminal → 3 lines", "user: ok"]


def test_a_call_without_answer_says_so():
    assert told(assistant("", [LS]), user("stop")) == ["terminal → no answer", "user: stop"]
    assert told(assistant(None, [LS])) == ["terminal → no answer"]


def test_an_answer_without_call_is_not_lost():
    assert told(tool_result(LS, "")) == ["terminal → nothing"]


def test_long_answers_are_counted_not_shown():
    assert summarize_answer("x" * 500) == "1 line"
    assert summarize_answer("short") == "short"


def test_what_a_tool_wraps_into_an_object_is_unwrapped():
    assert summarize_answer('{"output": "a\\nb\\nc", "exit_code": 0}') == "3 lines"
    assert summarize_answer('{"output": "", "exit_code": 0}') == "nothing"
    assert summarize_answer('{"error": "timed out", "output": null}') == "error: timed out"
    assert summarize_answer('{"success": true}') == '{"success": true}'
    assert summarize_answer("{not json") == "{not json"


@given(st.lists(st.sampled_from(["user", "call", "answer", "lone"]), max_size=12))
def test_every_message_is_somewhere(kinds):
    made = {
        "user": user("x"),
        "call": assistant("", [LS]),
        "answer": tool_result(LS, "y"),
        "lone": tool_result(CAT, "z"),
    }
    pieces = list(fold_messages(kept(*(made[kind] for kind in kinds))))
    assert sum(isinstance(p, SpokenText) for p in pieces) == kinds.count("user")
    answered = sum(isinstance(p, ToolExchange) and p.answer is not None for p in pieces)
    assert answered == kinds.count("answer") + kinds.count("lone")


def test_markdown_folds_calls_and_hides_what_was_undone():
    session = Session(id=ID, title="Plan", started_at=1.7e9, message_count=4)
    rows = kept(
        user("look"),
        assistant("Yes.", [LS]),
        tool_result(LS, "``` not the end"),
        Message(role="user", content="secret thought", active=False),
    )
    text = "".join(to_markdown(session, rows))
    assert text.startswith("# Plan\n")
    assert "<summary><code>terminal</code>" in text
    assert "````text\n``` not the end\n````" in text
    assert "secret thought" not in text


@pytest.mark.parametrize("render", [to_markdown, to_html])
def test_a_message_of_thoughts_alone_is_not_an_empty_heading(render):
    session = Session(id=ID, title="Plan", started_at=1.7e9, message_count=3)
    thought = Message(role="assistant", content=None, reasoning="hm")
    text = "".join(render(session, kept(user("look"), thought, assistant("Yes.", [LS]), tool_result(LS, "a"))))
    assert text.count("Agent ·") == 1


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"command": "ls"}, "ls"),
        ({"cmd": "ls -l", "workdir": "/w"}, "ls -l"),
        ({"command": ["bash", "-lc", "ls -l | wc"], "timeout": 5}, "ls -l | wc"),
        ({"command": ["git", "status"]}, "git status"),
        ({"commands": ["ls", "pwd"]}, "ls; pwd"),
        ({"absolute_path": "/w/a"}, "/w/a"),
        ({"command": []}, "command=[]"),
        ({"command": [1]}, "command=[1]"),
    ],
)
def test_a_call_of_any_program_shows_its_command(arguments, shown):
    call = ToolCall(id="c", name="x", arguments=json.dumps(arguments))
    assert summarize_call(call) == shown
    session = Session(id=ID, title="Plan", started_at=1.7e9)
    text = "".join(to_markdown(session, kept(assistant(None, [call]), tool_result(call, "a"))))
    assert f"<code>x</code> {shown}</summary>" in text.replace("&quot;", '"')


def test_a_fence_is_longer_than_any_inside():
    assert fence("a ````` b", "text").startswith("``````text\n")


def test_jsonl_is_one_line_with_all_messages():
    rows = kept(user("a\nb"), Message(role="user", content="taken back", active=False))
    (line,) = to_jsonl(Session(id=ID), rows)
    whole = json.loads(line)
    assert line.count("\n") == 1
    assert whole["id"] == "s1"
    assert [one["content"] for one in whole["messages"]] == ["a\nb", "taken back"]
    assert whole["messages"][1]["active"] is False


def test_the_notice_of_a_hand_off_is_nobodys_words():
    notice = replace(user("[Sojourn: handed over]"), extra='{"internal": true}')
    [piece] = fold_messages(kept(notice))
    assert piece.is_notice
    text = "".join(to_markdown(Session(id=ID), kept(notice, user("hello"))))
    assert re.search(r"## Notice · .*\n\n\[Sojourn: handed over\]", text)
    assert text.count("## You") == 1


def test_only_our_own_mark_makes_a_notice():
    for extra in (None, "{", '"internal"', '{"internal": "yes"}', '{"by": "internal"}'):
        assert not is_internal(replace(user("mine"), extra=extra))
    assert not is_internal(Message(role="assistant", content="x", extra='{"internal": true}'))
