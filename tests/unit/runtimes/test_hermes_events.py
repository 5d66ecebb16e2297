"""The answer of a run agrees with its pieces and with Hermes' last word."""

import pytest

from sojourn.runtimes.hermes.events import AnswerBuffer


def told(*deltas: str) -> AnswerBuffer:
    answer = AnswerBuffer()
    for delta in deltas:
        answer.start_part() if delta == "TOOL" else answer.add(delta)
    return answer


@pytest.mark.parametrize(
    ("deltas", "output", "missing", "text"),
    [
        (["One ", "two. "], "One two.", "", "One two. "),
        ([], "All at once.", "All at once.", "All at once."),
        (["One "], "One two.", "two.", "One two."),
        (["One"], "One two.", " two.", "One two."),
        (["Look. ", "TOOL", "\n\nFound."], "Found.", "", "Look. \n\nFound."),
        (["Look. ", "TOOL", "\n\nFo"], "Found.", "und.", "Look. \n\nFound."),
        (["Look. ", "TOOL"], "Found.", "\n\nFound.", "Look. \n\nFound."),
        (["TOOL", "\n\nFound."], "Found.", "", "Found."),
        (["One ", "One "], "OneOne", "", "One One "),
        (["Something else."], "The answer.", "\n\nThe answer.", "Something else.\n\nThe answer."),
        (["One."], "", "", "One."),
    ],
)
def test_nothing_is_shown_twice_and_nothing_is_missing(deltas: list[str], output: str, missing: str, text: str) -> None:
    answer = told(*deltas)
    assert answer.finish(output) == missing
    assert answer.text == text


def test_terminal_sequences_are_dropped_wherever_they_are_cut() -> None:
    answer = told("\x1b[", "31mRed", "\x1b[0", "m alert")
    assert answer.finish("\x1b[31mRed\x1b[0m alert") == ""
    assert answer.text == "Red alert"
