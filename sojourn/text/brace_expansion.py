"""Brace expansion of a shell: `{a,b}c` is `ac bc`. Marks stand for unquoted braces and commas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

OPEN, CLOSE, COMMA = "\ue001", "\ue002", "\ue003"
_INNERMOST = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
_WITHOUT_COMMA = re.compile(f"{OPEN}([^{OPEN}{CLOSE}{COMMA}]*){CLOSE}")
MAX_BRACE_WORDS, MAX_BRACE_PAIRS, MAX_WORD_CHARS = 200, 20, 10_000  # words, pairs, characters


def expand_braces(word: str) -> Iterator[str]:
    """Expands the braces of a word, up to a limit; yields nothing if there are too many."""
    if OPEN not in word:
        yield _remove_marks(word)
    elif len(word) <= MAX_WORD_CHARS:
        while _WITHOUT_COMMA.search(word):
            word = _WITHOUT_COMMA.sub(r"{\1}", word)
        if word.count(OPEN) <= MAX_BRACE_PAIRS:
            yield from islice(_iter_choices(word), MAX_BRACE_WORDS)


def _iter_choices(word: str) -> Iterator[str]:
    hit = _INNERMOST.search(word)
    if hit is None:
        yield _remove_marks(word)
        return
    for part in hit[1].split(COMMA):
        yield from _iter_choices(word[: hit.start()] + part + word[hit.end() :])


def _remove_marks(word: str) -> str:
    return word.replace(OPEN, "{").replace(CLOSE, "}").replace(COMMA, ",")
