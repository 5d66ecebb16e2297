"""What an agent of another make is told: nothing of the conversation is lost, only its form."""

import json

import pytest

from sojourn.core.attachments import Attachment, user_message
from sojourn.core.errors import ContextFull
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.context import ContextBlock
from sojourn.runtimes.hermes.run import build_run_request, to_memory_scope, to_session_name
from sojourn.runtimes.prompt_text import render_context, to_text_messages
from sojourn.task_graph import Task, TaskGraph
from sojourn.testing.turn_runner import make_history, make_turn_input


def test_tool_calls_and_results_are_retold_in_full() -> None:
    call = ToolCall(id="c1", name="look_up", arguments='{"word": "one"}')
    long = "x" * 100_000
    told = to_text_messages([user("Go."), assistant("I look.", [call]), tool_result(call, long), assistant("Found.")])
    assert [one.role for one in told] == ["user", "assistant"]
    assert told[1].content == f'I look.\n[used look_up with {{"word": "one"}}]\n\n[result of look_up]\n{long}\n\nFound.'


def test_roles_take_turns_whatever_the_transcript_has() -> None:
    summary = Message(role="system", content="They talked about dogs.")
    told = to_text_messages([summary, user("One."), user("Two."), assistant(None), assistant("A."), assistant("B.")])
    assert told == [
        Message(role="user", content="[note]\nThey talked about dogs.\n\nOne.\n\nTwo."),
        Message(role="assistant", content="A.\n\nB."),
    ]


def test_what_was_attached_before_is_named() -> None:
    picture = Attachment(hash="h", media_type="image/png", name="dog.png", size=4)
    [told] = to_text_messages([user_message("Look.", (picture,))])
    assert told.content == "Look.\n[attached, not shown: dog.png, image/png, 4 bytes]"


def test_each_part_of_the_context_says_where_it_comes_from_and_why() -> None:
    block = ContextBlock(kind="note", title="Garden", text="Water it.", origin="garden.md", reason="it has “water”")
    told = render_context([block])
    assert all(words in told for words in ("Garden", "note", "Water it.", "garden.md", "it has “water”"))
    assert render_context([]) == ""


def test_a_graph_is_told_once() -> None:
    graph = TaskGraph(tasks=(Task(id="t1", title="Dig"), Task(id="t2", title="Plant", needs=("t1",))), because="order")
    assert "t2 [waiting] Plant (after t1)" in render_context([], graph=graph)
    block = ContextBlock(kind="tasks", title="Steps", text="Dig, then plant.", origin="x", reason="y")
    assert render_context([block], graph=graph).count("Plant") == 0


@pytest.mark.parametrize("session", ["20261116_080000_abcdef01", "a:b", "a@b", "x" * 255, "codex-a+b=c"])
def test_the_name_in_hermes_is_safe_and_always_the_same(session: str) -> None:
    name = to_session_name(SessionId(session))
    assert name == to_session_name(SessionId(session))
    assert name.startswith("sojourn_")
    assert len(name) <= 256
    assert not set(name) & set('/\\:*?"<>|\r\n\0')


def test_different_sessions_never_share_a_name() -> None:
    assert len({to_session_name(SessionId(one)) for one in ("a:b", "a@b", "a-b", "a+b")}) == 4


def test_each_person_has_a_memory_of_their_own_in_hermes() -> None:
    assert to_memory_scope(Principal("owner")) != to_memory_scope(Principal("guest:ann"))
    assert "\n" not in to_memory_scope(Principal("a\nb"))


async def test_a_request_has_all_and_only_what_there_is() -> None:
    body = await build_run_request(
        make_turn_input("Hi.", history=make_history(user("Hello."), assistant("Hello you.")))
    )
    assert set(body) == {"input", "session_id", "conversation_history"}
    assert body["conversation_history"][0] == {"role": "user", "content": "Hello."}
    assert "model" in await build_run_request(make_turn_input("Hi.", model="fast"))


async def test_more_than_hermes_takes_is_said_before_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.runtimes.hermes.run.MAX_REQUEST_BYTES", 1000)
    with pytest.raises(ContextFull, match="Hermes"):
        await build_run_request(make_turn_input("x" * 2000))


async def test_only_an_attachment_is_something_said() -> None:
    note = Attachment(hash="h", media_type="application/json", name="a.json", size=2)
    body = await build_run_request(make_turn_input("", attachments=(note,), files={"h": json.dumps({"a": 1}).encode()}))
    assert '{"a": 1}' in body["input"]


async def test_text_that_is_none_is_named_instead() -> None:
    note = Attachment(hash="h", media_type="text/plain", name="a.txt", size=2)
    body = await build_run_request(make_turn_input("See.", attachments=(note,), files={"h": b"\xff\xfe"}))
    assert body["input"] == "See.\n\n[attached, not shown: a.txt, text/plain, 2 bytes]"
