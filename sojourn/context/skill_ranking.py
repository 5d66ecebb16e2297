"""Which skills a request calls for. Words decide alone where nothing else is installed; meaning decides first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sojourn.context.bm25 import Bm25Index
from sojourn.context.embeddings import Embedder
from sojourn.context.query_expansion import as_said, asked, in_english
from sojourn.core.skills import Skill

# How much each judgement counts against the others; found on the tuning half of tests/data/skills.
_MEANING, _TERM = 1.0, 0.3
_NEAR = 0.12  # the cosine from which on meaning alone is a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSkill:
    """A skill, its place, and why it has it."""

    skill: Skill
    score: float
    shared: tuple[str, ...]  # words of the request it has
    nearness: float  # in meaning, 0 where nothing is installed that knows

    @property
    def reason(self) -> str:
        words = f"it has {', '.join(f'“{word}”' for word in self.shared[:4])}" if self.shared else ""
        near = f"its meaning is near ({self.nearness:.2f})" if self.nearness >= _NEAR else ""
        return "; ".join(filter(None, [words, near]))


class Shortlist:
    """The skills of a shelf, ready to be asked. Pure but for the senses, which compute: ask it in a thread."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = tuple(skills)
        # The vectors know English: of a Chinese description they get the words we know.
        self.texts = [f"{spoken(one.name)}. {in_english(one.description) or one.description}" for one in self.skills]
        self._index = Bm25Index([[(spoken(one.name), 3), (one.description, 2), (one.body, 1)] for one in self.skills])

    def rank(self, request: str, *, words: Embedder | None = None) -> list[RankedSkill]:
        """Those that fit, best first."""
        weighted = asked(request, self._index)
        by_terms, forms = self._index.scores(weighted), as_said(request)
        english = in_english(request) or request
        near = words.nearness(english, self.texts) if words else []
        totals = [0.0] * len(self.skills)
        for scores, weight in ((near, _MEANING), (by_terms, _TERM)):
            for number, value in enumerate(_standard(scores)):
                totals[number] += weight * value
        fitting = [n for n in range(len(self.skills)) if by_terms[n] > 0 or (near and near[n] >= _NEAR)]
        fitting.sort(key=lambda number: (-totals[number], self.skills[number].name))
        return [
            RankedSkill(
                skill=self.skills[number],
                score=totals[number],
                shared=tuple(forms.get(word, word) for word in self._index.shared(number, weighted)),
                nearness=near[number] if near else 0.0,
            )
            for number in fitting
        ]


def spoken(name: str) -> str:
    """A name as words: `git-rebase` is said "git rebase"."""
    return name.replace("-", " ").replace("_", " ")


def _standard(scores: Sequence[float]) -> list[float]:
    """Scores in steps of their own spread, so that different judgements can be added."""
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    spread = sqrt(sum((one - mean) ** 2 for one in scores) / len(scores)) or 1.0
    return [(one - mean) / spread for one in scores]
