"""Time words: the period that a request names."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.time_words import parse_period

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)  # a Wednesday


def to_days(text):
    period = parse_period(text, NOW)
    return period and tuple(datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (period.since, period.until))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("what did we do yesterday?", ("2026-11-17", "2026-11-18")),
        ("what was it earlier today", ("2026-11-18", "2026-11-19")),
        ("the bug of last week", ("2026-11-04", "2026-11-18")),
        ("this month", ("2026-10-19", "2026-11-19")),
        ("two weeks ago", ("2026-11-01", "2026-11-08")),
        ("on Monday we said", ("2026-11-16", "2026-11-17")),
        ("last Wednesday", ("2026-11-11", "2026-11-12")),
        ("in March", ("2026-03-01", "2026-04-01")),
        ("in December", ("2025-12-01", "2026-01-01")),
        ("in July 2022", ("2022-07-01", "2022-08-01")),
        ("on 25 May, 2022", ("2022-05-25", "2022-05-26")),
        ("on May 3rd", ("2026-05-03", "2026-05-04")),
        ("since 2026-01-31", ("2026-01-31", "2026-02-01")),
        ("on 31 June 2022", None),
        ("you may go", None),
        ("march on", None),
        ("nothing of the kind", None),
    ],
)
def test_a_period_is_read_from_everyday_words(text, days):
    assert to_days(text) == days


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    period = parse_period(text, NOW)
    assert period is None or period.since < period.until
