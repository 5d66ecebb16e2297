"""Stream redaction: redacts a text that arrives in pieces, and holds back what may be the beginning of a secret.

What was released is at all times a prefix of the whole text redacted. The name before a secret is released at once;
only its value waits, until a character says where it ends. Ordinary words do not wait, but for the three behind such a
name: "the password for staging" may go on with the password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from sojourn.text.redaction import (
    KEYS,
    OTHERS,
    HintedPattern,
    black_out,
    find_secrets,
    fold_case,
    is_long,
    measure_rest,
    remove_overlaps,
    select_patterns,
)
from sojourn.text.secret_shape import VENDOR_CHARS
from sojourn.text.secret_syntax import ALONE

HINT_CHARS = 32  # the longest hint, which may have begun
_EDGE_CHARS = VENDOR_CHARS + 8  # how far before its match a pattern may look
# Once more is held back, the text is searched again only when it has grown by an eighth: work stays in proportion.
_PATIENT_CHARS = 64
_NAMELESS = tuple(one for one in OTHERS if not one.secret.pattern.has_name)
_KEY_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+="


class StreamRedactor:
    """Redacts one text. `feed` takes its pieces, `end` gives what was still held back."""

    def __init__(self) -> None:
        self._text = ""  # what is held back, and the text before it that patterns may need
        self._released = 0  # how much of `_text` is released
        self._is_cut = False  # there was text before `_text`
        self._enough = 0  # how long `_text` has to be before it is searched again
        self._is_long = False  # what was released ends with a long secret that may go on

    def feed(self, piece: str) -> str:
        """Adds a piece and returns what is decided now."""
        if self._is_long:
            self._released += measure_rest(piece, 0)
            self._is_long = self._released == len(self._text) + len(piece)
        self._text += piece
        if len(self._text) < self._enough:
            return ""
        released, kept = self._release(*self._find_open()), len(self._text)
        self._enough = kept + kept // 8 if kept - self._released > _PATIENT_CHARS else 0
        return released

    def end(self) -> str:
        """Ends the text and returns the rest; the next piece begins another text."""
        rest = self._release(len(self._text), 0)
        self._text, self._released, self._is_cut, self._is_long, self._enough = "", 0, False, False, 0
        return rest

    def _release(self, end: int, name: int) -> str:
        """Releases the text up to a place, or up to a secret across that place. `name`: what is needed again."""
        text, known = self._text, _EDGE_CHARS if self._is_cut else 0
        found = [one for one in find_secrets(text) if one.match_start >= known and one.end > self._released]
        goes_on = any(one.end == len(text) and is_long(one) for one in found)
        found = [one._replace(start=max(one.start, self._released)) for one in found]
        secrets = remove_overlaps(found) if found else []
        for one in secrets:
            if end < one.end:
                end, name = min(end, one.start), min(name, one.match_start)
        released = black_out(text, secrets, self._released, end)
        self._is_long |= goes_on and end == len(text)
        needless = max(0, min(end, name, len(text) - HINT_CHARS) - _EDGE_CHARS)
        self._text, self._released = text[needless:], end - needless
        self._is_cut |= needless > 0
        return released

    def _find_open(self) -> tuple[int, int]:
        """The first place from which on the text may be a secret that is not decided yet, and the first name before
        a secret that may still come."""
        text, first, name = self._text, len(self._text), len(self._text)
        for one, at in self._iter_candidates():
            partial = one.secret.pattern.partial
            if len(text) <= at + partial.before:
                name = min(name, at)
            matters = at + partial.least < first or at < name
            if matters and len(text) <= at + partial.longest and partial.is_open(text, at):
                first, name = min(first, max(self._released, at + partial.least)), min(name, at)
        return first, name

    def _iter_candidates(self) -> Iterator[tuple[HintedPattern, int]]:
        """Each pattern with each place where it may begin."""
        text, known = self._text, _EDGE_CHARS if self._is_cut else 0
        word = max(known, len(text.rstrip(_KEY_CHARS)))  # a key is one word
        if word < len(text) and _compile_beginnings().search(text, word):
            for one in KEYS:
                yield from ((one, at) for at in _find_places(text, one.hint, word))
                yield from ((one, at) for at in _find_beginnings(text, one.hint, word))
        folded = fold_case(text)
        for one in select_patterns(text, folded, is_whole=False):
            places = _find_places(folded if one.is_folded else text, one.hint, known)
            yield from ((one, at) for at in places)
        for one in _NAMELESS:
            yield from ((one, at) for at in _find_beginnings(text, one.hint, known))


def _find_places(text: str, hint: str, start: int) -> list[int]:
    """The places of a hint."""
    places, at = [], text.find(hint, start)
    while at >= 0:
        places.append(at)
        at = text.find(hint, at + 1)
    return places


def _find_beginnings(text: str, hint: str, start: int) -> list[int]:
    """The places at the end of the text where a hint may have begun."""
    most = min(len(hint) - 1, len(text) - start)
    return [len(text) - length for length in range(most, 0, -1) if text.endswith(hint[:length])]


@cache
def _compile_beginnings() -> re.Pattern[str]:
    """Finds a whole hint of a key, or the beginning of one at the end of the text; grouped by the first letter, which
    `re` searches fastest."""
    rests: dict[tuple[str, str], list[str]] = {}
    for one in KEYS:
        rest = ""
        for char in reversed(one.hint[1:]):
            rest = rf"(?:\Z|{re.escape(char)}{rest})"
        before = ALONE if one.secret.pattern.starts_with(ALONE) else ""
        rests.setdefault((one.hint[0], before), []).append(rest)
    return re.compile(
        "|".join(f"(?={re.escape(first)}){before}.(?:{'|'.join(some)})" for (first, before), some in rests.items())
    )
