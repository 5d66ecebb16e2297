"""Where a long conversation is cut, and what becomes of the old part."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolReturnPart

from sojourn.core.messages import ToolCall, assistant, tool_result, user
from sojourn.runtimes.native.compaction import message_tokens, shorten_results, split_history, to_pages
from sojourn.testing.turn_runner import make_history
from sojourn.text.token_count import estimate_tokens

CALL = ToolCall(id="c", name="look")
TALK = make_history(
    user("a " * 40), assistant("b " * 40, [CALL]), tool_result(CALL, "c " * 40), user("d"), assistant("e")
)


def test_what_is_kept_begins_with_something_a_person_said():
    old, newest = split_history(TALK, 60)
    assert [one.seq for one in old] == [1, 2, 3]
    assert newest[0].message.role == "user"


def test_what_fits_stays_and_what_cannot_be_cut_goes_whole():
    assert split_history(TALK, 10_000)[0] == ()
    assert split_history(TALK, 1)[1] == ()


@given(st.lists(st.sampled_from(["user", "assistant", "tool"]), max_size=12), st.integers(0, 400))
def test_nothing_is_lost_and_what_stays_fits(roles, room):
    talk = make_history(
        *(
            {"user": user("x" * 80), "assistant": assistant("y" * 80), "tool": tool_result(CALL, "z" * 80)}[r]
            for r in roles
        )
    )
    old, newest = split_history(talk, room)
    assert old + newest == talk
    assert sum(message_tokens(one.message) for one in newest) <= room or not newest


def test_the_old_part_comes_in_pages_that_fit():
    made = to_pages(TALK, 60)
    assert len(made) > 1
    assert all(estimate_tokens(page) <= 120 for page in made)
    assert "result of look" in "".join(made)


def test_old_results_of_a_turn_are_shortened_the_last_ones_are_not():
    def result(text: str) -> ModelRequest:
        return ModelRequest(parts=[ToolReturnPart(tool_name="look", content=text, tool_call_id="c")])

    said = ModelResponse(parts=[TextPart(content="x")])
    made = shorten_results([said, result("a" * 5000), said, result("b" * 5000)])
    assert "shortened, 5000 characters" in str(made[1])
    assert made[3] == result("b" * 5000) or "b" * 5000 in str(made[3])


def test_chinese_counts_more_per_character_than_english():
    assert estimate_tokens("字" * 100) > 2 * estimate_tokens("a" * 100)
