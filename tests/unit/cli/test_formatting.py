import time

import click
import pytest

from sojourn.cli.options import TimeParam
from sojourn.text.formatting import format_age, format_bytes, format_duration, one_line, pluralize, printable, to_iso

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("gone", "told"),
    [(5, "just now"), (125, "2 min ago"), (7300, "2 h ago"), (90_000, "yesterday"), (3.5 * 86400, "3 days ago")],
)
def test_how_long_ago(gone, told):
    assert format_age(NOW - gone, NOW) == told


def test_long_ago_is_a_date_with_a_year_only_if_it_is_another():
    assert len(format_age(NOW - 8 * 86400, NOW).split()) == 2
    assert len(format_age(NOW - 400 * 86400, NOW).split()) == 3


@pytest.mark.parametrize("mad", [1e18, -1e18, 1e300])
def test_a_mad_clock_breaks_nothing(mad):
    assert to_iso(mad) is None
    assert format_age(mad, NOW)


def test_scripts_get_utc():
    assert to_iso(1_700_000_000.5) == "2023-11-14T22:13:20.500Z"


@pytest.mark.parametrize(("number", "told"), [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (812e6, "812 MB")])
def test_sizes(number, told):
    assert format_bytes(number) == told


def test_numbers_with_their_noun():
    assert pluralize(1, "session") == "1 session"
    assert pluralize(1284, "session") == "1,284 sessions"
    assert pluralize(2, "copy", "copies") == "2 copies"
    assert format_duration(75) == "1 min 15 s"


def test_text_cannot_steer_the_terminal():
    assert printable("a\x1b[31mb\x07\u202ec\ud800") == "a�[31mb��c�"
    assert printable("keeps\nlines\tand tabs") == "keeps\nlines    and tabs"
    assert one_line("a\n  b\r\nc", 4) == "a b…"


def when(text, **options):
    return TimeParam(**options).convert(text, None, None)


def test_a_span_counts_back_from_now():
    for text, seconds in {"30m": 1800, "12h": 43200, "7d": 604800, "2w": 1209600}.items():
        assert when(text) == pytest.approx(time.time() - seconds, abs=5)


def test_a_date_is_a_local_day_and_its_end_includes_it():
    start, end = when("2026-01-31"), when("2026-01-31", end=True)
    assert time.localtime(start)[:5] == (2026, 1, 31, 0, 0)
    assert end - start == 86400
    assert when("2026-01-31T18:00:00+00:00") == 1769882400.0
    assert when("yesterday") < when("today") <= time.time()


@pytest.mark.parametrize("wrong", ["soon", "2026-13-01", "7 parsecs", ""])
def test_what_is_not_a_time_is_refused_with_examples(wrong):
    with pytest.raises(click.BadParameter, match="7d"):
        when(wrong)
