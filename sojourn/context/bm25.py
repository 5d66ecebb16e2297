"""BM25: ranks documents of weighted fields by the words of a query."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import log

from sojourn.text.tokenizer import stem_words

Fields = Sequence[tuple[str, float]]  # text, and the weight of its words
_K1, _B = 1.2, 0.6  # saturation of term frequency; weight of the length


class Bm25Index:
    """A BM25 index of documents. Built once, queried often."""

    def __init__(self, documents: Sequence[Fields]) -> None:
        self.size = len(documents)
        self._postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        lengths: list[float] = []
        for number, fields in enumerate(documents):
            weighted: defaultdict[str, float] = defaultdict(float)
            for text, weight in fields:
                for word, times in Counter(stem_words(text)).items():
                    weighted[word] += times * weight
            lengths.append(sum(weighted.values()))
            for word, mass in weighted.items():
                self._postings[word].append((number, mass))
        mean = (sum(lengths) / len(lengths) if lengths else 0.0) or 1.0
        self._norms = [_K1 * (1 - _B + _B * length / mean) for length in lengths]

    def __contains__(self, word: object) -> bool:
        return word in self._postings

    def idf(self, word: str) -> float:
        """Inverse document frequency: high for a word that few documents have."""
        having = len(self._postings.get(word, ()))
        return log(1 + (self.size - having + 0.5) / (having + 0.5))

    def is_distinctive(self, word: str) -> bool:
        """False for a word that at least half of ten or more documents have."""
        return self.size < 10 or 2 * len(self._postings.get(word, ())) < self.size

    def score(self, query: Mapping[str, float]) -> list[float]:
        """Returns the score of each document for a query of weighted words."""
        scores = [0.0] * self.size
        for word, weight in query.items():
            idf = self.idf(word) if word in self._postings else 0.0
            for number, mass in self._postings.get(word, ()):
                scores[number] += weight * idf * mass * (_K1 + 1) / (mass + self._norms[number])
        return scores

    def shared_words(self, number: int, query: Mapping[str, float]) -> list[str]:
        """Returns the words of the query that a document has, the most distinctive first."""
        having = [word for word in query if any(one == number for one, _ in self._postings.get(word, ()))]
        return sorted(having, key=lambda word: -query[word] * self.idf(word))
