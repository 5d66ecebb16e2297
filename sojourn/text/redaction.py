"""Redaction: replaces secrets with `[redacted:<kind>]` on the write path, before storage and index.

`text.secret_patterns` describes the secrets. Each pattern is tried at each of its hints, whatever the others find, and
what any of them finds is replaced. So whether a piece of text is a secret depends on its surroundings only, and
`text.stream_redaction` can decide about the beginning of a text while the rest is still being written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from ahocorasick_rs import BytesAhoCorasick

from sojourn.core.messages import Json
from sojourn.text.secret_patterns import KEY_PATTERNS, OTHER_PATTERNS
from sojourn.text.secret_shape import (
    has_digit,
    has_vendor,
    is_code,
    is_mixed,
    is_random,
    is_stand_in,
    is_strong,
    may_be_word,
)
from sojourn.text.secret_syntax import VALUE, SecretPattern

Redactor = Callable[[str], str]
# Longer texts are redacted in a thread. Made to be slow, a text of this length takes about 20 ms; a thread is
# interrupted between two matches, and each of them is short.
INLINE_CHARS = 2_048


class Redacted(str):
    """A text that was redacted as part of a longer one: it must not be redacted again by itself."""

    __slots__ = ()


class Identifier(str):
    """A name that is compared character by character, such as a room's id: it is stored as it is."""

    __slots__ = ()


def mark_identifiers(value: Json, texts: Container[str] = ("text", "name", "label", "fallback_reason")) -> Json:
    """Returns a JSON document whose strings are identifiers, but for the fields with people's words."""
    if isinstance(value, dict):
        return {
            (key if key in texts else Identifier(key)): one if key in texts else mark_identifiers(one, texts)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [mark_identifiers(one, texts) for one in value]
    return Identifier(value) if isinstance(value, str) else value


class FoundSecret(NamedTuple):
    """A secret in a text: the place to replace, and its kind; of two kinds, the one with the lower rank is named."""

    start: int
    rank: int
    end: int
    kind: str
    match_start: int  # where its name begins


class HintedPattern(NamedTuple):
    """A pattern, and one of the hints where it is tried."""

    hint: str
    is_folded: bool
    secret: SecretPattern
    rank: int


def _hinted(patterns: Iterable[SecretPattern], first_rank: int) -> tuple[HintedPattern, ...]:
    return tuple(
        HintedPattern(hint, secret.folded, secret, rank)
        for rank, secret in enumerate(patterns, first_rank)
        for hint in secret.hints
    )


KEYS = _hinted(KEY_PATTERNS, 0)
OTHERS = _hinted(OTHER_PATTERNS, len(KEY_PATTERNS))
_SLICE_BYTES = 65_536  # searched at a time: a text may consist of hints, and each one found takes memory
_MAX_HINT_BYTES = max(len(one.hint.encode()) for one in (*KEYS, *OTHERS))
LONG_CHARS = 200
_REST = re.compile(f"{VALUE}*")
_MIN_CHARS = 14  # a key is one long word; most words are short, so few are searched
_OF_KEYS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/+=")
_APART = bytes(one if one in _OF_KEYS else ord(" ") for one in range(256))


class _HintFinder:
    """Finds which hints a text contains, all in one pass. Single characters, which are everywhere, are looked up."""

    def __init__(self, patterns: Iterable[HintedPattern], fold: Callable[[str], str]) -> None:
        by_hint: dict[str, list[HintedPattern]] = {}
        for one in patterns:
            by_hint.setdefault(fold(one.hint), []).append(one)
        self._characters = [(hint, some) for hint, some in by_hint.items() if len(hint) == 1]
        words = {hint: some for hint, some in by_hint.items() if len(hint) > 1}
        self._patterns, self._automaton = list(words.values()), BytesAhoCorasick([hint.encode() for hint in words])

    def find(self, text: str) -> Iterator[HintedPattern]:
        """The patterns whose hint is in a text, in the case it has."""
        for hint, some in self._characters:
            if hint in text:
                yield from some
        data, found = text.encode("utf-8", "surrogatepass"), set[int]()
        for start in range(0, len(data), _SLICE_BYTES):
            part = data[start : start + _SLICE_BYTES + _MAX_HINT_BYTES]
            found.update(hit[0] for hit in self._automaton.find_matches_as_indexes(part, overlapping=True))
        for number in sorted(found):
            yield from self._patterns[number]


@cache
def _build_finder() -> _HintFinder:
    """For all secrets but keys, in a text whose case was folded."""
    return _HintFinder(OTHERS, fold_case)


@cache
def _build_key_finder() -> _HintFinder:
    return _HintFinder(KEYS, str)


@cache
def _compile_prefixes() -> re.Pattern[bytes]:
    """Matches the beginning of any key, grouped by first letter, which `re` searches fastest."""
    rests: dict[str, list[str]] = {}
    for one in KEYS:
        rests.setdefault(one.hint[0], []).append(re.escape(one.hint[1:]))
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items()).encode())


def _join_long_words(text: str) -> bytes:
    """The words of a text that are long enough for a key, or for a value that only its mix of letters tells."""
    words = text.encode("ascii", "replace").translate(_APART).split()
    return b" ".join([word for word in words if len(word) >= _MIN_CHARS])


def fold_case(text: str) -> str:
    """Lowers ASCII letters only, so that every character keeps its place."""
    if text.isascii():
        return text.lower()
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


def select_patterns(text: str, folded: str, *, is_whole: bool = True) -> list[HintedPattern]:
    """The patterns, but for keys, whose hint is in a text. What else they need may still come if it is not whole."""
    return [
        one
        for one in _build_finder().find(folded)
        if (one.is_folded or one.hint in text) and not (is_whole and one.secret.needs and one.secret.needs not in text)
    ]


def find_secrets(text: str) -> list[FoundSecret]:
    """Finds every secret; they may overlap."""
    folded = fold_case(text)
    found: list[FoundSecret] = []
    long_words = _join_long_words(text)
    if long_words and _compile_prefixes().search(long_words):
        for one in _build_key_finder().find(text):
            found += _find(one, text, text)
    for one in select_patterns(text, folded):
        if long_words or not one.secret.mixed:
            found += _find(one, folded if one.is_folded else text, text)
    return _extend_long(text, found) if any(is_long(one) for one in found) else found


def is_long(one: FoundSecret) -> bool:
    """Whether a secret may be longer than its pattern: it goes on until its characters end."""
    return one.end - one.start >= LONG_CHARS


def measure_rest(text: str, start: int) -> int:
    """Where a long secret ends that reaches `start`."""
    rest = _REST.match(text, start)
    return rest.end() if rest else start


def _extend_long(text: str, found: list[FoundSecret]) -> list[FoundSecret]:
    extended, reached = [], 0
    for one in sorted(found, key=lambda one: one.end):
        if is_long(one) and one.end >= reached:
            reached = measure_rest(text, one.end)
        extended.append(one._replace(end=max(one.end, reached)) if is_long(one) else one)
    return extended


def _find(one: HintedPattern, where: str, text: str) -> Iterator[FoundSecret]:
    """Finds the secrets that begin with a hint."""
    pattern, at = one.secret.pattern.compiled, where.find(one.hint)
    group = "secret" if "secret" in pattern.groupindex else 0
    while at >= 0:
        hit = pattern.match(text, at)
        if hit and not _is_ordinary(one.secret, hit, hit[group]):
            yield FoundSecret(hit.start(group), one.rank, hit.end(group), one.secret.kind, at)
        at = where.find(one.hint, at + 1)


def remove_overlaps(found: Iterable[FoundSecret]) -> list[FoundSecret]:
    """The same places in order; of what overlaps, the later one keeps the part behind the earlier one."""
    apart: list[FoundSecret] = []
    for one in sorted(found):
        last = apart[-1] if apart else None
        if last is None or one.start >= last.end:
            apart.append(one)
        elif one.end > last.end and one.start == last.start:
            apart[-1] = last._replace(end=one.end)
        elif one.end > last.end:
            apart.append(one._replace(start=last.end))
    return apart


def black_out(text: str, secrets: Iterable[FoundSecret], start: int, end: int) -> str:
    """A part of a text with its secrets replaced; none of them may cross its edges."""
    parts: list[str] = []
    for one in secrets:
        if start <= one.start and one.end <= end:
            parts += (text[start : one.start], f"[redacted:{one.kind}]")
            start = one.end
    return "".join((*parts, text[start:end]))


def redact(text: str) -> str:
    """Replaces every secret of a text with its kind."""
    if isinstance(text, Redacted):
        return text
    return _redact_long(text) if len(text) > INLINE_CHARS else _redact(text)


def _redact(text: str) -> str:
    found = find_secrets(text)
    return black_out(text, remove_overlaps(found), 0, len(text)) if found else text


@lru_cache(maxsize=2)
def _redact_long(text: str) -> str:
    """What was redacted in a thread is needed again at once, in the record of its turn."""
    return _redact(text)


def _is_ordinary(secret: SecretPattern, hit: re.Match[str], value: str) -> bool:
    """Whether a value is no secret: a word, code, or a placeholder."""
    if (secret.digits and not has_digit(value)) or (secret.strong and not is_strong(value)):
        return True
    if secret.mixed and not is_mixed(value):
        return True
    if secret.vendor and not has_vendor(hit.string, hit.start()):
        return True
    if "secret" not in hit.re.groupindex:
        return False
    before, after = hit.string[hit.start() : hit.start("secret")], hit.string[hit.end() : hit.end() + 1]
    if is_stand_in(value) or (secret.random and not (is_random(value) or may_be_word(value, before))):
        return True
    return secret.named and is_code(value, before, after)


def holds_secrets(data: bytes) -> bool:
    """Whether the bytes of a file are text in which something would be redacted."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return redact(text) != text


def no_redaction(text: str) -> str:
    """A redactor that changes nothing, for the setting `redact = no`."""
    return text
