"""Stemming: words without their endings (Snowball), and the words that carry no meaning of their own."""

from __future__ import annotations

from functools import lru_cache

import Stemmer

from sojourn.text.stop_words import STOP_CHARACTERS, STOP_WORDS
from sojourn.text.writing_systems import is_unspaced

_MIN_STEM_CHARS = 3
_LATIN, _CYRILLIC = Stemmer.Stemmer("english", 0), Stemmer.Stemmer("russian", 0)


@lru_cache(maxsize=8192)
def stem(term: str) -> str:
    """Returns a lower-case word without its ending: plural and verb forms share a stem."""
    if len(term) <= _MIN_STEM_CHARS or not term.isalpha() or is_unspaced(term[0]):
        return term
    language = _CYRILLIC if "\u0400" <= term[0] <= "\u04ff" else _LATIN
    root: str = language.stemWord(term)
    return root


@lru_cache(maxsize=8192)
def is_stop_word(term: str) -> bool:
    """True for a word that carries no meaning of its own."""
    if term in STOP_WORDS:
        return True
    if is_unspaced(term[0]):
        return all(sign in STOP_CHARACTERS for sign in term)
    return len(term) == 1 and not term.isdigit()
