"""Brace expansion: `{a,b}c` is `ac bc`. Unquoted braces and commas come as marks, so that quoted ones stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

OPEN, CLOSE, COMMA = "\ue001", "\ue002", "\ue003"
_INNERMOST = re.compile(f"{OPEN}([^{OPEN}{CLOSE}]*){CLOSE}")
_PLAIN = re.compile(f"{OPEN}([^{OPEN}{CLOSE}{COMMA}]*){CLOSE}")
MOST, PAIRS, LONGEST = 200, 20, 10_000


def expanded(word: str) -> list[str]:
    """The words one word stands for; the first MOST of them. Nothing when it is too intricate to say."""
    if OPEN not in word:
        return [_plain(word)]
    if len(word) > LONGEST:
        return []
    while _PLAIN.search(word):
        word = _PLAIN.sub(r"{\1}", word)
    return list(islice(_each(word), MOST)) if word.count(OPEN) <= PAIRS else []


def _plain(word: str) -> str:
    return word.replace(OPEN, "{").replace(CLOSE, "}").replace(COMMA, ",")


def _each(word: str) -> Iterator[str]:
    hit = _INNERMOST.search(word)
    if hit is None:
        yield _plain(word)
        return
    for part in hit[1].split(COMMA):
        yield from _each(word[: hit.start()] + part + word[hit.end() :])
