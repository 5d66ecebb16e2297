"""Badges of plugins: two values in a Plugin, counted and earned like ours."""

from types import SimpleNamespace

from sojourn.achievements.factory import build_rule_book
from sojourn.achievements.rules import RuleBook
from sojourn.badge_rules import Achievement, MetricRule, tool_named
from sojourn.ports.plugin import Plugin

SHELL = Plugin(
    name="shell-feats",
    summary="For people who live in the terminal.",
    metrics=[MetricRule(key="shell.calls", pattern=tool_named("terminal"))],
    achievements=[
        Achievement(
            id="shell_dweller",
            title="Shell dweller",
            story="The prompt knows your name.",
            metric="shell.calls",
            tiers=(10, 100, 1000),
        )
    ],
)
BROKEN = Plugin(
    name="broken",
    summary="",
    achievements=[Achievement(id="odd", title="Odd", story="", metric="nobody.counts", tiers=(1,))],
)


def kit(*plugins):
    return SimpleNamespace(plugins=lambda: plugins)


def test_a_plugin_brings_badges_of_its_own():
    whole = build_rule_book(kit(SHELL))
    assert whole.achievements[-1].id == "shell_dweller"
    assert len(whole.achievements) == len(RuleBook().achievements) + 1
    assert whole.digest != RuleBook().digest  # history is read again for the new metric


def test_without_such_plugins_the_rules_are_exactly_ours():
    assert build_rule_book(kit(Plugin(name="quiet", summary=""))) == RuleBook()


def test_a_plugin_with_senseless_badges_loses_them_and_nothing_else(caplog):
    whole = build_rule_book(kit(BROKEN, SHELL))
    assert [badge.id for badge in whole.achievements[len(RuleBook().achievements) :]] == ["shell_dweller"]
    assert "broken" in caplog.text
