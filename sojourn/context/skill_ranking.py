"""Ranks skills for a request by BM25 and, where word vectors are installed, by similarity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from sojourn.context.bm25 import Bm25Index
from sojourn.context.embeddings import Embedder
from sojourn.context.query_expansion import expand_query, spoken_forms, translate_chinese
from sojourn.ports.libraries import Skill

# Weights of the two scores, tuned on the tuning half of tests/data/skills.
_SIMILARITY_WEIGHT, _BM25_WEIGHT = 1.0, 0.3
_MIN_SIMILARITY = 0.12  # cosine from which on similarity alone is a reason


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSkill:
    """A skill with its score and the reasons for it."""

    skill: Skill
    score: float
    shared: tuple[str, ...]  # words of the request that the skill has
    nearness: float  # cosine similarity; 0 without word vectors

    @property
    def reason(self) -> str:
        words = f"it has {', '.join(f'“{word}”' for word in self.shared[:4])}" if self.shared else ""
        near = f"its meaning is near ({self.nearness:.2f})" if self.nearness >= _MIN_SIMILARITY else ""
        return "; ".join(filter(None, [words, near]))


class Shortlist:
    """An index of skills. Pure but for the embedders, which compute: ask it in a thread."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = tuple(skills)
        # The vectors know English: a Chinese description is translated word by word.
        self.texts = [
            f"{name_to_words(one.name)}. {translate_chinese(one.description) or one.description}" for one in self.skills
        ]
        self._index = Bm25Index(
            [[(name_to_words(one.name), 3), (one.description, 2), (one.body, 1)] for one in self.skills]
        )

    def rank(self, request: str, *, embedder: Embedder | None = None) -> list[RankedSkill]:
        """Returns the skills that fit, best first."""
        weighted = expand_query(request, self._index)
        by_terms, forms = self._index.score(weighted), spoken_forms(request)
        english = translate_chinese(request) or request
        near = embedder.similarities(english, self.texts) if embedder else []
        totals = [0.0] * len(self.skills)
        for scores, weight in ((near, _SIMILARITY_WEIGHT), (by_terms, _BM25_WEIGHT)):
            for number, value in enumerate(_standardise(scores)):
                totals[number] += weight * value
        fitting = [n for n in range(len(self.skills)) if by_terms[n] > 0 or (near and near[n] >= _MIN_SIMILARITY)]
        fitting.sort(key=lambda number: (-totals[number], self.skills[number].name))
        return [
            RankedSkill(
                skill=self.skills[number],
                score=totals[number],
                shared=tuple(forms.get(word, word) for word in self._index.shared_words(number, weighted)),
                nearness=near[number] if near else 0.0,
            )
            for number in fitting
        ]


def name_to_words(name: str) -> str:
    """Returns a name as words: "git rebase" for `git-rebase`."""
    return name.replace("-", " ").replace("_", " ")


def _standardise(scores: Sequence[float]) -> list[float]:
    """Returns standard scores, so that scores of different scales can be added."""
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    spread = sqrt(sum((one - mean) ** 2 for one in scores) / len(scores)) or 1.0
    return [(one - mean) / spread for one in scores]
