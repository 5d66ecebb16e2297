"""Query expansion: adds synonyms of everyday words, translations of Chinese words, and corrections of typos.

The lists are data: `everyday.txt` (everyday phrase > technical terms) and `chinese.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from functools import cache

from sojourn.context.word_lists import read_lines
from sojourn.text.stemming import is_stop_word, stem
from sojourn.text.tokenizer import stem_words, tokenize
from sojourn.text.writing_systems import is_unspaced

SYNONYM_WEIGHT, CHINESE_WEIGHT, TYPO_WEIGHT = 0.5, 0.9, 0.8  # weight of a word that the request itself does not contain
_WORD = re.compile(r"[\w'-]+")
_MAX_CHINESE_CHARS = 5  # characters of a Chinese entry


def expand_query(text: str, known: Container[str] = ()) -> dict[str, float]:
    """Returns the words of a request and their expansions, each with its weight.

    known: stems that a misspelt word may be corrected to
    """
    weights = dict.fromkeys(stem_words(text), 1.0)
    for word in stem_words(translate_chinese(text)):
        weights.setdefault(word, CHINESE_WEIGHT)
    for word in stem_words(everyday_synonyms(text)):
        weights.setdefault(word, SYNONYM_WEIGHT)
    for term in {token.term for token in tokenize(text)}:
        if stem(term) not in known and not is_stop_word(term):
            for word in typo_candidates(term, known):
                weights.setdefault(word, TYPO_WEIGHT)
    return weights


def spoken_forms(text: str) -> dict[str, str]:
    """Maps each stem of the expanded query to the word as the request, or the synonym list, spells it."""
    spoken = f"{everyday_synonyms(text)} {translate_chinese(text)} {text}"
    return {stem(token.term): token.term for token in tokenize(spoken)}


def everyday_synonyms(text: str) -> str:
    """Returns the technical terms for everyday words and phrases of a text."""
    text = " ".join(["", *_WORD.findall(text.lower()), ""])
    names = (word for phrase, found in _load_synonyms().items() if phrase in text for word in found)
    return " ".join(dict.fromkeys(names))


def translate_chinese(text: str) -> str:
    """Returns the English words for the Chinese words of a text; the longest entry wins."""
    chinese = _load_chinese()
    found: list[str] = []
    at = 0
    while at < len(text):
        if not is_unspaced(text[at]):
            at += 1
            continue
        length = next((n for n in range(_MAX_CHINESE_CHARS, 0, -1) if text[at : at + n] in chinese), 0)
        found += chinese.get(text[at : at + length], ())
        at += length or 1
    return " ".join(dict.fromkeys(found))


def typo_candidates(term: str, known: Container[str]) -> list[str]:
    """Returns known stems within one edit of a word: a letter removed, added, changed or swapped with the next."""
    if len(term) < 5 or not term.isascii() or not term.isalpha():
        return []
    return [word for word in dict.fromkeys(map(stem, _single_edits(term))) if word in known]


def _single_edits(term: str) -> Iterable[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    halves = [(term[:at], term[at:]) for at in range(1, len(term) + 1)]
    for head, tail in halves:
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in letters)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in letters)


@cache
def _load_synonyms() -> Mapping[str, tuple[str, ...]]:
    synonyms: dict[str, tuple[str, ...]] = {}
    for line in read_lines("everyday.txt"):
        phrases, _, names = line.partition(" > ")
        for phrase in phrases.split(", "):
            synonyms[f" {phrase} "] = (*synonyms.get(f" {phrase} ", ()), *names.split())
    return synonyms


@cache
def _load_chinese() -> Mapping[str, tuple[str, ...]]:
    entries = (entry.split() for line in read_lines("chinese.txt") for entry in line.split(" | "))
    return {word: tuple(names) for word, *names in entries}
