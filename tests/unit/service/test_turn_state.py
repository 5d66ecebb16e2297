"""What is missing for a proper end of a turn."""

import pytest

from sojourn.core.events import Chunk, Done, Failed, Metadata
from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.core.sessions import Recorded, SessionId
from sojourn.service.turn_state import TurnState

A, B = ToolCall(id="a", name="read"), ToolCall(id="b", name="write")


def course(*items) -> TurnState:
    made = TurnState()
    for seq, item in enumerate(items, 1):
        made.apply(Recorded(session=SessionId("s"), seq=seq, at=0.0, item=item))
    return made


def test_a_finished_turn_misses_nothing():
    seen = course(Metadata(), user("hi"), Chunk("yes"), assistant("yes"), Done())
    assert seen.loose_ends("completed") == []
    assert (seen.has_begun, seen.over, seen.failed, seen.answered) == (True, True, False, True)
    assert seen.ids == ["s:2", "s:4"]


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "interrupted"])
def test_open_calls_are_paired_before_words_that_were_only_shown(status):
    seen = course(user("hi"), assistant(None, [A, B]), tool_result(A, "ok"), Chunk("so "), Chunk("far"))
    result, words = seen.loose_ends(status)
    assert (result.role, result.tool_call_id, result.tool_name) == ("tool", "b", "write")
    assert (words.role, words.content) == ("assistant", "so far")
    assert words.finish_reason == ("stop" if status == "completed" else status)


def test_words_that_are_kept_are_not_kept_twice():
    assert course(Chunk("yes"), assistant("yes"), Chunk("  ")).loose_ends("failed") == []


def test_an_answer_is_the_last_word_of_an_assistant():
    assert not course(user("hi")).answered
    assert not course(user("hi"), assistant("let me see", [A])).answered
    assert not course(user("hi"), assistant(None, [A]), tool_result(A, "ok")).answered
    assert course(Failed("x", "y")).failed
