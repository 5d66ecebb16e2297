"""The little language of patterns."""

from __future__ import annotations

import pytest

from sojourn.achievements.pattern_syntax import parse_pattern, to_re
from sojourn.achievements.plan import build_plan
from sojourn.badge_rules import MetricRule, words
from sojourn.core.errors import BadInput


def test_choices_and_options_are_spelled_out_in_order():
    said = to_re(parse_pattern(words("[b]{a,b}[ws+]c[d?]")))
    assert said == r"\ba\s+cd|\ba\s+c|\bb\s+cd|\bb\s+c"


def test_case_never_matters():
    assert to_re(parse_pattern(words("OK"))) == "ok"


@pytest.mark.parametrize("pattern", ["[nope]", "{a", "a[b]b", "[b].x", "é", "[ws+]"])
def test_what_could_not_be_counted_exactly_is_refused(pattern):
    with pytest.raises(BadInput):
        parse_pattern(words(pattern))


@pytest.mark.parametrize(
    "alternatives", [("a[..]b", "c[..]d"), ("xa[..]b", "ax"), ("[b][id+]x", "y[..]z"), ("a[..]b[ws+]c",), ("a[..]",)]
)
def test_rules_that_would_need_guessing_are_refused(alternatives):
    with pytest.raises(BadInput):
        build_plan((MetricRule(key="x", pattern=words(*alternatives)),))


def test_what_two_rules_look_for_is_searched_once():
    one = MetricRule(key="one", pattern=words("codex", "claude"))
    two = MetricRule(key="two", pattern=words("codex"))
    assert len(build_plan((one, two)).searches) == 2
