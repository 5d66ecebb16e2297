"""From totals to badges, point by point as the original does it."""

from __future__ import annotations

import pytest

from sojourn.achievements.aggregate import ListTotals, find_provider, is_local_model, is_weekend_and_night
from sojourn.achievements.evaluate import badge_to_json, evaluate_badge
from sojourn.badge_rules import Achievement, MetricRule, tool_named
from sojourn.core.errors import BadInput
from tests.unit.achievements.worlds import BOOK, time_zone

BADGES = {badge.id: badge for badge in BOOK.achievements}
# badge, totals → state, tier, progress, next tier, next threshold, percent, discovered
STANDINGS = [
    ("let_him_cook", {}, ("discovered", None, 0, "Copper", 200, 0, True)),
    ("let_him_cook", {"max_tool_calls_in_session": 199}, ("discovered", None, 199, "Copper", 200, 99, True)),
    ("let_him_cook", {"max_tool_calls_in_session": 200}, ("unlocked", "Copper", 200, "Silver", 500, 0, True)),
    ("let_him_cook", {"max_tool_calls_in_session": 8000}, ("unlocked", "Olympian", 8000, None, 8000, 100, True)),
    ("let_him_cook", {"max_tool_calls_in_session": 9000}, ("unlocked", "Olympian", 9000, None, 8000, 100, True)),
    ("claude_confidant", {"claude_events": 29}, ("discovered", None, 29, "Copper", 50, 57, True)),
    ("claude_confidant", {"claude_events": 79}, ("unlocked", "Copper", 79, "Silver", 150, 28, True)),
    ("claude_confidant", {"claude_events": 107}, ("unlocked", "Copper", 107, "Silver", 150, 56, True)),
    ("port_3000_taken", {}, ("secret", None, 0, "Copper", 15, 0, False)),
    ("port_3000_taken", {"port_conflict_events": 1}, ("discovered", None, 1, "Copper", 15, 6, True)),
    (
        "dependency_hell_tourist",
        {"install_error_events": 2, "install_success_events": 5},
        ("discovered", None, 28, None, 100, 28, True),
    ),
    (
        "full_send",
        {
            "max_terminal_calls_in_session": 900,
            "max_file_tool_calls_in_session": 119,
            "max_web_browser_calls_in_session": 60,
        },
        ("discovered", None, 99, None, 100, 99, True),
    ),
    ("one_character_fix", {}, ("secret", None, 0, None, 100, 0, False)),
    ("one_character_fix", {"total_errors": 1}, ("discovered", None, 0, None, 100, 0, True)),
    (
        "one_character_fix",
        {"total_errors": 4000, "tiny_patch_after_errors_events": 5},
        ("unlocked", None, 100, None, 100, 100, True),
    ),
]


@pytest.mark.parametrize(("badge", "totals", "expected"), STANDINGS)
def test_a_badge_stands_where_its_totals_put_it(badge, totals, expected):
    at = evaluate_badge(BADGES[badge], totals)
    assert (at.state, at.tier, at.progress, at.next_tier, at.next_threshold, at.progress_pct, at.discovered) == expected
    assert at.unlocked == (at.state == "unlocked")


def test_there_are_sixty_badges_and_sixty_three_totals():
    assert len(BOOK.achievements) == 60
    assert len(BOOK.labels) == 63
    assert sum(badge.secret for badge in BOOK.achievements) == 8
    kinds = [badge.kind for badge in BOOK.achievements]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"lifetime": 50, "best_session": 5, "multi_condition": 5}


def test_a_secret_keeps_its_keys_and_hides_their_values():
    badge = BADGES["rollback_wizard"]
    hidden = badge_to_json(badge, evaluate_badge(badge, {}), BOOK.labels)
    shown = badge_to_json(badge, evaluate_badge(badge, {"rollback_events": 3}), BOOK.labels)
    assert hidden.keys() == shown.keys()
    told = {"name", "description", "icon", "criteria", "threshold_metric", "tiers"}
    assert all(hidden[key] != shown[key] for key in told)
    assert "rollback" not in str({key: value for key, value in hidden.items() if key != "id"}).lower()


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("claude-opus-4", "claude"),
        ("anthropic/claude-x", "anthropic"),
        ("gpt-5", "gpt"),
        ("openai/gpt-5", "openai"),
        ("gpt-5.1-codex", "codex"),
        ("grok-4", "grok"),
        ("llama3:8b", "llama3"),
        ("models/gemini", "models"),
        ("gemini-3", "google"),
        (" None ", ""),
        ("/x", ""),
        ("-foo", ""),
        ("", ""),
    ],
)
def test_a_model_name_suggests_a_provider(model, provider):
    assert find_provider(model) == provider


def test_local_models_are_known_by_their_names():
    assert is_local_model("Ollama/qwen")
    assert is_local_model("http://localhost:1/x")
    assert is_local_model(" x.GGUF ")
    assert not any(map(is_local_model, ["none", "", "gpt-5"]))


@pytest.mark.parametrize(
    ("day", "clock", "weekend", "night"),
    [
        (19, (22, 59), False, False),
        (19, (23, 0), False, True),
        (20, (5, 59), True, True),
        (20, (6, 0), True, False),
        (21, (23, 59), True, True),
        (22, (0, 0), False, True),
    ],
)
def test_nights_and_weekends_go_by_the_local_clock(day, clock, weekend, night):
    import time

    with time_zone("America/New_York"):
        started = time.mktime((2026, 6, day, *clock, 0, 0, 0, -1))
        assert is_weekend_and_night(started) == (weekend, night)


def test_times_that_are_no_times_are_neither_night_nor_weekend():
    assert is_weekend_and_night(0) == is_weekend_and_night(None) == is_weekend_and_night(1e20) == (False, False)
    assert is_weekend_and_night("soon") == is_weekend_and_night("nan") == (False, False)


def test_a_text_that_python_reads_as_a_number_is_a_time():
    with time_zone("UTC"):
        assert is_weekend_and_night("1_750_000_000") == is_weekend_and_night(1_750_000_000) == (True, False)


def test_the_model_called_none_is_no_model():
    listed = ListTotals()
    for model in ("None", None, "a/b", "a/c"):
        listed.add(0, model)
    found = listed.totals()
    assert (found["session_count"], found["distinct_model_count"], found["distinct_provider_count"]) == (4, 2, 1)


def test_a_plugin_adds_a_badge_with_two_values():
    book = BOOK.extend(
        [MetricRule(key="shell.calls", pattern=tool_named("terminal"))],
        [Achievement(id="shell_dweller", title="Shell dweller", story="…", metric="shell.calls", tiers=(1, 10))],
    )
    at = evaluate_badge(book.achievements[-1], {"shell.calls": 3})
    assert (at.tier, at.next_tier, at.next_threshold) == ("Copper", "Silver", 10)
    assert book.digest != BOOK.digest


def test_a_badge_for_what_nobody_counts_is_refused():
    with pytest.raises(BadInput, match="no metric counts"):
        BOOK.extend([], [Achievement(id="x", title="x", story="x", metric="nonsense", tiers=(1,))])
