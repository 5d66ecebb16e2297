"""Ranking by words: BM25 over weighted fields. Pure, and the same everywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import log

from sojourn.context.stemming import counted, words

Fields = Sequence[tuple[str, float]]  # text and how much its words count
_K, _B = 1.2, 0.6


class Bm25Index:
    """Documents and how well each answers weighted words. Built once, asked often."""

    def __init__(self, documents: Sequence[Fields]) -> None:
        self.size = len(documents)
        self._found: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        lengths: list[float] = []
        for number, fields in enumerate(documents):
            weighted: defaultdict[str, float] = defaultdict(float)
            for text, weight in fields:
                for word, times in counted(text).items():
                    weighted[word] += times * weight
            lengths.append(sum(weighted.values()))
            for word, mass in weighted.items():
                self._found[word].append((number, mass))
        mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._norms = [_K * (1 - _B + _B * length / mean) for length in lengths]

    def __contains__(self, word: object) -> bool:
        return word in self._found

    @property
    def vocabulary(self) -> Sequence[str]:
        return tuple(self._found)

    def rarity(self, word: str) -> float:
        """How much a word tells: high for one that few documents have."""
        having = len(self._found.get(word, ()))
        return log(1 + (self.size - having + 0.5) / (having + 0.5))

    def tells(self, word: str) -> bool:
        """Whether a word sets documents apart: among many, one that most of them have does not."""
        return self.size < 10 or 2 * len(self._found.get(word, ())) < self.size

    def scores(self, asked: Mapping[str, float]) -> list[float]:
        """How well each document answers, by its number."""
        found = [0.0] * self.size
        for word, weight in asked.items():
            rarity = self.rarity(word) if word in self._found else 0.0
            for number, mass in self._found.get(word, ()):
                found[number] += weight * rarity * mass * (_K + 1) / (mass + self._norms[number])
        return found

    def shared(self, number: int, asked: Mapping[str, float]) -> list[str]:
        """The asked words a document has, the most telling first."""
        having = [word for word in asked if any(one == number for one, _ in self._found.get(word, ()))]
        return sorted(having, key=lambda word: -asked[word] * self.rarity(word))


def asked(text: str) -> dict[str, float]:
    """The words of a request, each counted once."""
    return dict.fromkeys(words(text), 1.0)
