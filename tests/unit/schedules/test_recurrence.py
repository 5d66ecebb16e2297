"""When a schedule fires: words, cron expressions, time zones and clock changes."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sojourn.core.errors import BadInput
from sojourn.schedules.recurrence import Recurrence, find_local_timezone, parse_recurrence

BERLIN = ZoneInfo("Europe/Berlin")


def at(year, month, day, hour=0, minute=0, zone=BERLIN):
    return datetime(year, month, day, hour, minute, tzinfo=zone).timestamp()


@pytest.mark.parametrize(
    ("words", "cron"),
    [
        ("every weekday 8:00", "0 8 * * 1-5"),
        ("Every Weekday at 8:30", "30 8 * * 1-5"),
        ("every day at 6pm", "0 18 * * *"),
        ("daily 12 am", "0 0 * * *"),
        ("weekends at 10", "0 10 * * 6,0"),
        ("every monday and friday 18:30", "30 18 * * 1,5"),
        ("mondays, wed and sun 9:05", "5 9 * * 1,3,0"),
        ("on tuesdays at 7", "0 7 * * 2"),
        ("every 15 minutes", "*/15 * * * *"),
        ("every minute", "* * * * *"),
        ("every 6 hours", "0 */6 * * *"),
        ("hourly", "0 * * * *"),
        ("0 8 * * 1-5", "0 8 * * 1-5"),
        ("*/10 9-17 * * mon-fri", "*/10 9-17 * * mon-fri"),
    ],
)
def test_words_become_a_cron_expression(words, cron):
    assert parse_recurrence(words, "UTC") == Recurrence(cron=cron, timezone="UTC")


@pytest.mark.parametrize(
    "words",
    [
        "",
        "sometimes",
        "every day",
        "every day 25:00",
        "every day 13pm",
        "every 7 minutes",
        "every xday 8:00",
        "61 * * * *",
        "every 0 hours",
    ],
)
def test_what_names_no_time_is_refused(words):
    with pytest.raises(BadInput):
        parse_recurrence(words, "UTC")


def test_a_time_zone_that_is_not_there_is_refused():
    with pytest.raises(BadInput, match="time zone"):
        parse_recurrence("hourly", "Europe/../etc")
    assert ZoneInfo(find_local_timezone())


def test_eight_o_clock_stays_eight_o_clock_over_a_clock_change():
    found = parse_recurrence("every day 8:00", "Europe/Berlin").times_until(at(2026, 10, 23, 12), at(2026, 10, 27, 12))
    assert [datetime.fromtimestamp(one, BERLIN).hour for one in found] == [8] * 4
    assert [datetime.fromtimestamp(one, UTC).hour for one in found] == [6, 7, 7, 7]


def test_a_time_that_comes_twice_fires_once_and_one_that_is_skipped_fires_too():
    rule = parse_recurrence("every day 2:30", "Europe/Berlin")
    autumn = rule.times_until(at(2026, 10, 24, 12), at(2026, 10, 26, 12))
    spring = rule.times_until(at(2026, 3, 28, 12), at(2026, 3, 30, 12))
    assert (len(autumn), len(spring)) == (2, 2)
