"""Stemming: the tokens of a text without endings and without stop words; reads the word lists of this package."""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path

from sojourn.text.tokenizer import is_unspaced, iter_runs

_STOP_CHARACTERS = frozenset("的了吗呢吧啊我你他她它们是在有和与就都也很把被给让想要帮请这那一不")


def stem_words(text: str) -> list[str]:
    """Returns the stems of a text in order, without stop words."""
    found: list[str] = []
    for run in iter_runs(text):
        found += [stem(token.term) for token in run.tokens if not is_stop_word(token.term)]
        if run.joined and len(run.tokens) > 1 and not is_unspaced(run.joined[0]):
            found.append(run.joined)
    return found


def is_stop_word(term: str) -> bool:
    """True for a word that carries no meaning of its own."""
    if term in load_words("stop_words.txt"):
        return True
    if is_unspaced(term[0]):
        return all(sign in _STOP_CHARACTERS for sign in term)
    return len(term) == 1 and not term.isdigit()


@cache
def load_words(name: str) -> frozenset[str]:
    """Reads the words of a data file of this package."""
    return frozenset(word for line in read_lines(name) for word in line.split())


def read_lines(name: str) -> list[str]:
    """Reads a data file of this package, without blank lines and comments."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


@lru_cache(maxsize=32768)
def stem(term: str) -> str:
    """Returns a word without its ending: plural and verb forms get one stem."""
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
