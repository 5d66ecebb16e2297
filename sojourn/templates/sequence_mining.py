"""Shapes that come back: the same steps, one after the other, in several sessions.

Long shapes are grown from short ones that are frequent themselves. What would be as frequent if steps were drawn at
random is chance and left out; what says the same as a better shape is merged into it; and only a few are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from math import fsum, log2
from operator import add

from sojourn.templates.session_shape import Digest

MIN_SESSIONS = 3
MIN_STEPS, MAX_STEPS = 2, 6
MAX_SUGGESTIONS = 8  # suggestions at a time: few and proven
_BY_CHANCE = 3.0  # a shape has to be so many times as frequent as chance would make it
_SAME = 0.6  # share of steps from which two shapes say the same
_COVERED = 0.7  # share of sessions from which a longer shape makes a part of it superfluous

_END = "\0"  # stands after each session, and for every step that too few of them hold
_KINDS = 0x10FFFF  # as many as there are letters

Gram = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StepSequence:
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


def find_recurring(
    digests: Mapping[str, Digest], *, least: int = MIN_SESSIONS, most: int = MAX_SUGGESTIONS
) -> list[StepSequence]:
    """The best shapes of a history, best first."""
    text_of_steps = _StepText([one.steps for one in digests.values()], least)
    seen = _count_frequent(text_of_steps, least)
    ranked = sorted((-text_of_steps.score(run, count), text_of_steps.steps_of(run), run) for run, count in seen.items())
    chosen: list[tuple[float, Gram, str]] = []
    for score, steps, run in ranked[: most * 200]:
        if len(chosen) < most and score < 0 and not any(_is_duplicate(run, better, seen) for *_, better in chosen):
            chosen.append((-score, steps, run))
    return [
        StepSequence(steps, _locate_runs(digests, text_of_steps.texts, run), round(score, 2))
        for score, steps, run in chosen
    ]


class _StepText:
    """All sessions, a letter for each kind of step: a run of steps is a piece of text, and texts are searched, cut and
    counted many times faster than lists are."""

    def __init__(self, sessions: Sequence[Gram], least: int) -> None:
        holds = Counter(chain.from_iterable(map(set, sessions)))
        self._steps = [_END, *[step for step, seen in holds.items() if seen >= least]][:_KINDS]
        letters = {step: chr(number) for number, step in enumerate(self._steps) if number}
        self.texts = ["".join([letters.get(step, _END) for step in steps]) for steps in sessions]
        self._counts = Counter("".join(self.texts))
        self._holds = {letter: holds[step] for step, letter in letters.items()}
        self._total, self._sessions = max(sum(map(len, self.texts)), 1), max(len(sessions), 1)

    def steps_of(self, run: str) -> Gram:
        return tuple(self._steps[ord(letter)] for letter in run)

    def is_more_than_chance(self, run: str, seen: int) -> bool:
        """Whether steps that follow each other at random would make the run less often than that."""
        expected = float(self._total)
        for letter in run:
            expected *= self._counts[letter] / self._total
        return seen >= _BY_CHANCE * expected - 1e-9  # so that a tie is a tie

    def score(self, run: str, seen: int) -> float:
        """0 for chance; else more for shapes that are frequent, long, and made of steps that say something."""
        if not self.is_more_than_chance(run, seen):
            return 0.0
        return log2(1 + seen) * fsum(log2(self._sessions / self._holds[letter] + 1) for letter in set(run))


def _count_frequent(text_of_steps: _StepText, least: int) -> dict[str, int]:
    """Every run of steps that enough sessions hold and that is not chance, with the number of sessions.

    A run can only be frequent where it is without its last step; without that, growing them would take for ever. How
    often it comes is counted first: in how many sessions that is, only for those that can still be worth it.
    """
    text = "".join(one + _END for one in text_of_steps.texts)
    whose = list(chain.from_iterable(repeat(number, len(one) + 1) for number, one in enumerate(text_of_steps.texts)))
    places: Iterable[int] = range(len(text) - 1)
    runs = list(map(add, text, text[1:]))
    found: dict[str, int] = {}
    for length in range(MIN_STEPS, MAX_STEPS + 1):  # nearly all pairs are frequent: from there on it is worth looking
        often = {run: count for run, count in Counter(runs).items() if count >= least and _END not in run}
        telling = {run for run, count in often.items() if text_of_steps.is_more_than_chance(run, count)}
        held = {(run, whose[at]) for at, run in zip(places, runs, strict=True) if run in telling}
        found.update((run, seen) for run, seen in Counter([run for run, _ in held]).items() if seen >= least)
        if length == MIN_STEPS:
            places, runs = range(len(text) - length), list(map(add, runs, text[length:]))
        else:
            places = [at for at, run in zip(places, runs, strict=True) if run in often]
            runs = [text[at : at + length + 1] for at in places]
    return found


def _is_duplicate(run: str, better: str, seen: Mapping[str, int]) -> bool:
    """Near-duplicates: one inside the other with about the same evidence, or mostly the same steps."""
    if run in better and seen[better] >= _COVERED * seen[run]:
        return True
    mine, theirs = set(run), set(better)
    return better in run or len(mine & theirs) >= _SAME * len(mine | theirs)


def _locate_runs(digests: Mapping[str, Digest], texts: Sequence[str], run: str) -> dict[str, tuple[int, ...]]:
    """Where a shape came first in each session."""
    return {
        session: one.places[at : at + len(run)]
        for (session, one), text in zip(digests.items(), texts, strict=True)
        if (at := text.find(run)) >= 0
    }
