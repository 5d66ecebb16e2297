"""Words as rankers see them: the terms of `core.terms`, without their endings and without the small words."""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

from sojourn.core.terms import is_unspaced, runs

_SMALL_SIGNS = frozenset("的了吗呢吧啊我你他她它们是在有和与就都也很把被给让想要帮请这那一不")


def words(text: str) -> list[str]:
    """The words of a text that mean something, in order, each without its ending."""
    found: list[str] = []
    for run in runs(text):
        found += [stem(token.term) for token in run.tokens if not is_small(token.term)]
        if run.joined and len(run.tokens) > 1 and not is_unspaced(run.joined[0]):
            found.append(run.joined)
    return found


def counted(text: str) -> Counter[str]:
    return Counter(words(text))


def is_small(term: str) -> bool:
    """Whether a word says nothing about what is wanted."""
    if is_unspaced(term[0]):
        return term in _small() or all(sign in _SMALL_SIGNS for sign in term)
    return term in _small() or (len(term) == 1 and not term.isdigit())


@cache
def _small() -> frozenset[str]:
    lines = Path(__file__).with_name("small.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


@lru_cache(maxsize=32768)
def stem(term: str) -> str:
    """A word without its ending, roughly: plural and verb forms become one. Applied to both sides alike."""
    if len(term) < 4 or not term.isascii() or not term.isalpha():
        return term
    word = term
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ions", "ingly", "ings", "ing", "edly", "ed", "ment", "ly", "er", "or", "ion"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word[: -len(ending)]
            break
    else:
        for ending in ("ing", "ed"):
            if word.endswith(ending) and len(word) - len(ending) == 3:
                word = word[: -len(ending)]
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith(("e", "y", "i")) else word
