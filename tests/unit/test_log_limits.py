"""Repeated log records are counted instead of written."""

import logging

from sojourn.log_limits import MAX_REPEATS, PERIOD_SECONDS, RepeatFilter


def record(message: str, at: float) -> logging.LogRecord:
    made = logging.LogRecord("part", logging.WARNING, __file__, 1, message, ("value",), None)
    made.created = at
    return made


def test_the_first_of_a_kind_pass_and_the_last_of_them_says_that_more_follow() -> None:
    one = RepeatFilter()
    passed = [made for at in range(MAX_REPEATS * 5) if one.filter(made := record("odd %s", at / 1000))]
    assert len(passed) == MAX_REPEATS
    assert passed[-1].getMessage() == "odd value (more like it are left out for 60 seconds)"
    assert all("more like it" not in made.getMessage() for made in passed[:-1])


def test_another_kind_is_not_held_back() -> None:
    one = RepeatFilter()
    for _ in range(100):
        one.filter(record("odd %s", 0.0))
    assert one.filter(record("other %s", 0.0))


def test_the_next_period_says_how_many_were_left_out() -> None:
    one = RepeatFilter()
    for _ in range(MAX_REPEATS + 7):
        one.filter(record("odd %s", 0.0))
    made = record("odd %s", PERIOD_SECONDS + 1)
    assert one.filter(made)
    assert made.getMessage() == "odd value (7 more like it were left out before)"


def test_a_clock_that_goes_back_begins_a_new_period() -> None:
    one = RepeatFilter()
    for _ in range(MAX_REPEATS + 1):
        one.filter(record("odd %s", 1000.0))
    assert one.filter(record("odd %s", 10.0))
