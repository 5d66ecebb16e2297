"""What else a request may mean: everyday words, Chinese words and typos, in the words that instructions use.

The lists are data: `everyday.txt` (what people say > what it is called) and `chinese.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from functools import cache
from pathlib import Path

from sojourn.context.stemming import is_small, stem, words
from sojourn.core.terms import is_unspaced, tokens

SAID, FROM_CHINESE, NEARLY = 0.5, 0.9, 0.8  # how much a word counts that was not said itself
_SPOKEN = re.compile(r"[\w'-]+")
_LONGEST = 5  # characters of a Chinese entry


def asked(text: str, known: Container[str] = ()) -> dict[str, float]:
    """The words of a request, and what they stand for, each with its weight. `known` are the words typos may mean."""
    found = dict.fromkeys(words(text), 1.0)
    for word in words(in_english(text)):
        found.setdefault(word, FROM_CHINESE)
    for word in words(meant(text)):
        found.setdefault(word, SAID)
    for term in {token.term for token in tokens(text)}:
        if stem(term) not in known and not is_small(term):
            for word in near(term, known):
                found.setdefault(word, NEARLY)
    return found


def as_said(text: str) -> dict[str, str]:
    """How each word of `asked` reads: as it was said, or as it is called."""
    spoken = f"{meant(text)} {in_english(text)} {text}"
    return {stem(token.term): token.term for token in tokens(spoken)}


def meant(text: str) -> str:
    """What everyday words and phrases of a text are called elsewhere."""
    said = " ".join(["", *_SPOKEN.findall(text.lower()), ""])
    return " ".join(dict.fromkeys(word for phrase, names in _everyday().items() if phrase in said for word in names))


def in_english(text: str) -> str:
    """The English words for the Chinese ones in a text, longest first."""
    chinese = _chinese()
    found: list[str] = []
    at = 0
    while at < len(text):
        if not is_unspaced(text[at]):
            at += 1
            continue
        length = next((n for n in range(_LONGEST, 0, -1) if text[at : at + n] in chinese), 0)
        found += chinese.get(text[at : at + length], ())
        at += length or 1
    return " ".join(dict.fromkeys(found))


def near(term: str, known: Container[str]) -> list[str]:
    """Words that differ from a misspelt one by one letter: left out, added, changed or swapped with the next."""
    if len(term) < 5 or not term.isascii() or not term.isalpha():
        return []
    return [word for word in dict.fromkeys(map(stem, _one_off(term))) if word in known]


def _one_off(term: str) -> Iterable[str]:
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
def _everyday() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in _lines("everyday.txt"):
        said, _, names = line.partition(" > ")
        for phrase in said.split(", "):
            found[f" {phrase} "] = (*found.get(f" {phrase} ", ()), *names.split())
    return found


@cache
def _chinese() -> Mapping[str, tuple[str, ...]]:
    entries = (entry.split() for line in _lines("chinese.txt") for entry in line.split(" | "))
    return {word: tuple(names) for word, *names in entries}


def _lines(name: str) -> list[str]:
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
