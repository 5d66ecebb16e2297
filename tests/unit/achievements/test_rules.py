"""The built-in badges come from a data file, which is read only when badges are needed."""

from __future__ import annotations

import subprocess
import sys

from sojourn.achievements.rules import load_badges


def test_sixty_badges_each_with_its_own_id_and_one_kind_of_goal() -> None:
    badges = load_badges()
    assert len({badge.id for badge in badges}) == len(badges) == 60
    assert all(bool(badge.tiers) != bool(badge.requirements) for badge in badges)
    assert all(list(badge.tiers) == sorted(badge.tiers) for badge in badges)
    assert {badge.kind for badge in badges} == {"lifetime", "best_session", "multi_condition"}
    assert all(badge.title and badge.story and badge.icon and badge.category for badge in badges)


def test_importing_the_rules_reads_no_badges() -> None:
    program = (
        "import sojourn.achievements.rules as rules\n"
        "from sojourn.achievements.rules import load_badges\n"
        "assert load_badges.cache_info().currsize == 0\n"
        "rules.RuleBook()\n"
        "assert load_badges.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
