"""Holds the naming rules and the size limits of CONTRIBUTING.md: part of `make check`.

`scripts/names_allowed.txt` lists the exceptions. It only shrinks: an entry that nothing needs any more is an
error too. `python -m scripts.check_names --tighten` removes such entries; it never adds one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scripts.code_measures import Tree

ALLOWED = Path(__file__).with_name("names_allowed.txt")
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_ADAPTER_LINES = 700  # of code, without blank lines, comments and docstrings
MOST_MEDIAN_ADAPTER_LINES = 350
READING_BUDGET_LINES = 5000
READING_BUDGET = "reading-budget"


def _long_files(tree: Tree) -> list[str]:
    return [path for lines, path in tree.file_lengths() if lines > MOST_FILE_LINES]


def _long_functions(tree: Tree) -> list[str]:
    return [where for lines, where in tree.function_lengths() if lines > MOST_FUNCTION_LINES]


def _long_adapters(tree: Tree) -> list[str]:
    return [name for lines, name in tree.adapter_lengths() if lines > MOST_ADAPTER_LINES]


def _long_median_adapter(tree: Tree) -> list[str]:
    lengths = [lines for lines, _ in tree.adapter_lengths()]
    return ["platforms"] if lengths and median(lengths) > MOST_MEDIAN_ADAPTER_LINES else []


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what breaks it, and what to do about each."""

    find: Callable[[Tree], list[str]]
    advice: str


RULES: Mapping[str, Rule] = {
    "gerund": Rule(Tree.gerund_modules, "name the module with a noun, not with a word in -ing"),
    "metaphor": Rule(Tree.metaphor_modules, "name the module with the word the trade uses"),
    "participle": Rule(Tree.participle_functions, "name the function with a verb and its object"),
    "duplicate-class": Rule(lambda tree: list(tree.duplicate_classes()), "give each public class a name of its own"),
    "unit": Rule(Tree.unitless_constants, "put the unit into the constant's name, or into a comment on its line"),
    "long-file": Rule(_long_files, f"split the file before {MOST_FILE_LINES} lines"),
    "long-function": Rule(_long_functions, f"split the function before {MOST_FUNCTION_LINES} lines"),
    "long-adapter": Rule(_long_adapters, f"at most {MOST_ADAPTER_LINES} lines of code; share what several networks do"),
    "adapter-median": Rule(
        _long_median_adapter, f"at most {MOST_MEDIAN_ADAPTER_LINES} lines of code; share what several networks do"
    ),
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """The exceptions: single offenders by rule, and how many more a rule may have."""

    offenders: Mapping[str, frozenset[str]]
    limits: Mapping[str, int]

    @classmethod
    def parse(cls, text: str) -> Allowed:
        """Reads lines `allow <rule> <offender>` and `limit <rule> <number>`; `#` starts a comment."""
        offenders: defaultdict[str, set[str]] = defaultdict(set)
        limits: dict[str, int] = {}
        for number, line in enumerate(text.splitlines(), 1):
            words = line.partition("#")[0].split()
            match words:
                case []:
                    continue
                case ["allow", rule, offender] if rule in RULES:
                    offenders[rule].add(offender)
                case ["limit", rule, most] if rule in (*RULES, READING_BUDGET) and most.isdecimal():
                    limits[rule] = int(most)
                case _:
                    raise ValueError(f"line {number} is neither `allow <rule> <offender>` nor `limit <rule> <number>`")
        return cls({rule: frozenset(found) for rule, found in offenders.items()}, limits)


def find_violations(tree: Tree, allowed: Allowed, budget: int = READING_BUDGET_LINES) -> list[str]:
    """One line for each broken rule and for each exception that nothing needs any more."""
    violations: list[str] = []
    for name, rule in RULES.items():
        found, excused = rule.find(tree), allowed.offenders.get(name, frozenset())
        new, most = [one for one in found if one not in excused], allowed.limits.get(name, 0)
        if len(new) > most:
            violations.append(f"{name}: {len(new)} found, at most {most} allowed; {rule.advice}:")
            violations += [f"    {one}" for one in new]
        elif len(new) < most:
            violations.append(f"{name}: only {len(new)} are left; lower `limit {name} {most}`")
        violations += [f"{name}: nothing needs `allow {name} {one}` any more" for one in sorted(excused - set(found))]
    lines, most = tree.reading_lines(), max(budget, allowed.limits.get(READING_BUDGET, 0))
    if lines > most:
        violations.append(f"{READING_BUDGET}: core, ports and service have {lines:,} lines, at most {most:,} allowed")
    return violations


def tighten(text: str, tree: Tree, budget: int = READING_BUDGET_LINES) -> str:
    """The list of exceptions without what nothing needs any more, and with limits lowered to what is found."""
    allowed = Allowed.parse(text)
    kept: list[str] = []
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["allow"] and words[2] not in RULES[words[1]].find(tree):
            continue
        if words[:1] == ["limit"]:
            lowered = _lower_limit(words[1], allowed, tree, budget)
            if not lowered:
                continue
            line = re.sub(r"\d+", str(lowered), line, count=1)
        kept.append(line)
    return "\n".join(kept) + "\n"


def _lower_limit(name: str, allowed: Allowed, tree: Tree, budget: int) -> int:
    if name == READING_BUDGET:
        lines = tree.reading_lines()
        return min(lines, allowed.limits[name]) if lines > budget else 0
    found = [one for one in RULES[name].find(tree) if one not in allowed.offenders.get(name, frozenset())]
    return min(len(found), allowed.limits[name])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", type=Path, default=Path("sojourn"))
    parser.add_argument("--allowed", type=Path, default=ALLOWED, metavar="FILE")
    parser.add_argument("--budget", type=int, default=READING_BUDGET_LINES, help="most lines of core, ports, service")
    parser.add_argument("--tighten", action="store_true", help="remove exceptions that nothing needs any more")
    given = parser.parse_args()
    tree, text = Tree(given.root), given.allowed.read_text(encoding="utf-8")
    if given.tighten:
        text = tighten(text, tree, given.budget)
        given.allowed.write_text(text, encoding="utf-8")
    violations = find_violations(tree, Allowed.parse(text), given.budget)
    for line in violations:
        print(line)
    if violations:
        print("\nCONTRIBUTING.md explains the rules; exceptions are listed, with a reason, in", given.allowed)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
