"""Shapes that come back: the same steps, one after the other, in several sessions.

Long shapes are grown from short ones that are frequent themselves. What would be as frequent if steps were drawn at
random is chance and left out; what says the same as a better shape is merged into it; and only a few are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2

from sojourn.templates.shapes import Digest

LEAST_SESSIONS = 3
SHORTEST, LONGEST = 2, 6
MOST = 8  # suggestions at a time: few and proven
_BY_CHANCE = 3.0  # a shape has to be so many times as frequent as chance would make it
_SAME = 0.6  # share of steps from which two shapes say the same
_COVERED = 0.7  # share of sessions from which a longer shape makes a part of it superfluous

_END = ""  # stands after each session

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Steps that came one after the other; where, by session: the places of the calls in its first run there."""

    steps: Gram
    runs: Mapping[str, tuple[int, ...]]
    score: float

    @property
    def sessions(self) -> int:
        return len(self.runs)

    @property
    def words(self) -> str:
        return " → ".join(self.steps)


def recurring(digests: Mapping[str, Digest], *, least: int = LEAST_SESSIONS, most: int = MOST) -> list[Shape]:
    """The best shapes of a history, best first."""
    grams = _frequent(digests, least)
    chance = _Chance(digests)
    scored = [(chance.score(gram, seen), gram) for gram, seen in grams.items()]
    ranked = sorted(((score, gram) for score, gram in scored if score > 0), key=lambda one: (-one[0], one[1]))
    chosen: list[tuple[float, Gram]] = []
    for score, gram in ranked[: most * 200]:
        if len(chosen) < most and not any(_says_the_same(gram, better, grams) for _, better in chosen):
            chosen.append((score, gram))
    runs = _runs(digests, [gram for _, gram in chosen])
    return [Shape(gram, runs[gram], round(score, 2)) for score, gram in chosen]


def _frequent(digests: Mapping[str, Digest], least: int) -> dict[Gram, int]:
    """Every run of steps that enough sessions hold, with the number of sessions.

    All sessions stand one after the other here, and a run is a number: that of a run one step shorter, and that of the
    step after it. A run can only be frequent where it is without its last step, and without its first; without that,
    growing them would take for ever.
    """
    steps: dict[str, int] = {}
    line = [steps.setdefault(step, len(steps)) for one in digests.values() for step in (*one.steps, _END)]
    whose = [number for number, one in enumerate(digests.values()) for _ in range(len(one.steps) + 1)]
    words, end, held = list(steps), steps.get(_END), max(len(digests), 1)
    names: list[Gram] = [(step,) for step in words]
    runs = {at: step for at, step in enumerate(line) if step != end}  # by the place where each begins
    found: dict[Gram, int] = {}
    for length in range(SHORTEST, LONGEST + 1):
        grown = {at: run * len(words) + line[at + length - 1] for at, run in runs.items() if at + 1 in runs}
        counts = Counter([one // held for one in {run * held + whose[at] for at, run in grown.items()}])
        frequent = {run: number for number, run in enumerate(run for run, seen in counts.items() if seen >= least)}
        names = [(*names[run // len(words)], words[run % len(words)]) for run in frequent]
        found.update(zip(names, (counts[run] for run in frequent), strict=True))
        runs = {at: frequent[run] for at, run in grown.items() if run in frequent}
    return found


class _Chance:
    """How often a shape would come if steps followed each other at random."""

    def __init__(self, digests: Mapping[str, Digest]) -> None:
        self._counts: Counter[str] = Counter()
        self._holds: Counter[str] = Counter()
        for one in digests.values():
            self._counts.update(one.steps)
            self._holds.update(set(one.steps))
        self._total, self._sessions = max(sum(self._counts.values()), 1), max(len(digests), 1)

    def score(self, gram: Gram, seen: int) -> float:
        """0 for chance; else more for shapes that are frequent, long, and made of steps that say something."""
        expected = float(self._total)
        for step in gram:
            expected *= self._counts[step] / self._total
        if seen < _BY_CHANCE * expected:
            return 0.0
        told = sum(log2(self._sessions / self._holds[step] + 1) for step in set(gram))
        return log2(1 + seen) * told


def _says_the_same(gram: Gram, better: Gram, seen: Mapping[Gram, int]) -> bool:
    """Near-duplicates: one inside the other with about the same evidence, or mostly the same steps."""
    mine, theirs = set(gram), set(better)
    if _is_part(gram, better) and seen[better] >= _COVERED * seen[gram]:
        return True
    return _is_part(better, gram) or len(mine & theirs) >= _SAME * len(mine | theirs)


def _is_part(part: Gram, whole: Gram) -> bool:
    return _place(part, whole) is not None


def _runs(digests: Mapping[str, Digest], grams: Sequence[Gram]) -> dict[Gram, dict[str, tuple[int, ...]]]:
    """Where each shape came first in each session."""
    found: dict[Gram, dict[str, tuple[int, ...]]] = {gram: {} for gram in grams}
    for session, one in digests.items():
        held = set(one.steps)
        for gram in grams:
            if held.issuperset(gram) and (at := _place(gram, one.steps)) is not None:
                found[gram][session] = one.places[at : at + len(gram)]
    return found


def _place(part: Gram, whole: Gram) -> int | None:
    """Where a run of steps begins first."""
    at = -1
    for _ in range(whole.count(part[0])):
        at = whole.index(part[0], at + 1)
        if whole[at : at + len(part)] == part:
            return at
    return None


def limited(shape: Shape, sessions: Sequence[str]) -> Shape:
    """The shape with the evidence of these sessions only."""
    return replace(shape, runs={one: shape.runs[one] for one in sessions if one in shape.runs})
