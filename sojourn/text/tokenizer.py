"""Tokenizer: splits text into search terms, the same for every store.

A message is indexed as a *set* of terms; `text.query` checks order and adjacency on the text itself and
`text.rank` counts in it, so every store finds the same hits in the same order and the index stays small.

- Words are lower-cased; `snake_case`, `camelCase` and `HTTPServer` are split, and the joined form is a term too
  (`user`, `user_name` and `getusername` all find `getUserName`).
- Scripts without spaces (Chinese, Japanese, Korean, Thai …) become overlapping pairs of characters; the last character
  of a run is also a term of its own, so that a single character can be found.
- A word whose stem differs from it has a term for the stem, in a range of its own: `runs` is found by `running`.
  A text in another European language also has the stems of that language.
- Two words in a row have a term for the pair, a hash of 16 bits: few texts without a phrase have all its pairs.
- The number of terms of a message and the length of a term are limited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import add, itemgetter, mul
from typing import NamedTuple
from zlib import crc32

from sojourn.text.escape import escape
from sojourn.text.languages import detect_language, stem_in
from sojourn.text.lazy_pattern import LazyPattern
from sojourn.text.stemming import is_stop_word, stem
from sojourn.text.writing_systems import UNSPACED, is_unspaced

TOKENIZER_VERSION = 3  # grows when the meaning changes; stores then bring their index up to date

MAX_TERM_CHARS = 64
MAX_TERMS = 4096
MAX_CHARS = 60_000
TOOL_HEAD_CHARS, TOOL_TAIL_CHARS = 6_000, 2_000

_RUN = LazyPattern(r"\w+")
_PIECE = LazyPattern(f"[{UNSPACED}]+|[^{UNSPACED}_]+")
_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de"  # also of Latin letters with marks
_CAMEL = LazyPattern(f"[{_UPPER}]+(?![a-z\u00df-\u00f6\u00f8-\u024f])[0-9]*|[{_UPPER}]?[^{_UPPER}]+|[{_UPPER}]+")
_MARK = "\ue000"  # opens a term that is not text: the name of a tool
_STEM_MARK = "\ue001"  # opens the stem of a word that is not the word itself
_FIRST_PAIR, _PAIRS = 0xF0000, 65_000  # the private characters that stand for pairs of words
_NO_CODE = -(2**40)  # of a token that makes no pairs
_MAX_CACHED_RUNS = 4_096  # runs; the vocabulary of a text comes again, its other words hardly ever
ANY_PAIR = "\ue002"  # a message with more pairs than are kept
_WORD_BYTES = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")
_TO_SPACES = bytes(one if one in _WORD_BYTES else 32 for one in range(256))  # splits ASCII as `_RUN` does
_Known = tuple[tuple[str, ...], tuple[int, ...]]  # of a run: the terms and stems that find it, the codes of its tokens


class Token(NamedTuple):
    """A term and its position in the text."""

    term: str
    start: int
    end: int


class _Split(NamedTuple):
    """One run of letters, split into tokens."""

    tokens: tuple[Token, ...]  # in order of reading
    joined: str  # the whole identifier in one piece, if it has several parts
    terms: frozenset[str]  # all words that find it
    stems: frozenset[str]  # terms of the stems that are none of these
    codes: tuple[int, ...]  # a number for each token; 0 for one of a script without spaces


def _split(run: str) -> _Split:
    return _split_cached(run) if len(run) <= MAX_TERM_CHARS else _split_run(run)


def _split_run(run: str) -> _Split:
    tokens: list[Token] = []
    plain: list[str] = []
    extra: set[str] = set()
    parts = 0
    for piece in _PIECE.compiled.finditer(run):
        text, at = piece[0], piece.start()
        if is_unspaced(text[0]):
            pairs = range(max(1, len(text) - 1))
            tokens += [Token(text[i : i + 2], at + i, at + i + len(text[i : i + 2])) for i in pairs]
            extra.add(text[-1])
            continue
        plain.append(text)
        camel = list(_CAMEL.compiled.finditer(text)) if len(text) <= MAX_TERM_CHARS else []
        spans = [(part.start(), part.end()) for part in camel] or [(0, len(text))]
        tokens += [Token(text[a:b].lower()[:MAX_TERM_CHARS], at + a, at + b) for a, b in spans]
        parts += len(spans)
    joined = "".join(plain).lower()[:MAX_TERM_CHARS] if parts > 1 else ""
    found = extra | {token.term for token in tokens} | ({joined} if joined else set())
    roots = {stem(token.term) for token in tokens} - found
    codes = tuple(_word_code(token.term) for token in tokens)
    return _Split(tuple(tokens), joined, frozenset(found), frozenset(map(stem_term, roots)), codes)


_split_cached = lru_cache(maxsize=2048)(_split_run)


class Run(NamedTuple):
    """An unbroken run of letters in a text: its tokens, and its joined form if it has several parts."""

    tokens: tuple[Token, ...]
    joined: str
    start: int
    end: int


def iter_runs(text: str, start: int = 0) -> Iterator[Run]:
    """Yields the runs of a text from `start` on."""
    for run in _RUN.compiled.finditer(text, start):
        at, split = run.start(), _split(run[0])
        yield Run(tuple(Token(t.term, t.start + at, t.end + at) for t in split.tokens), split.joined, at, run.end())


def iter_runs_with(term: str, text: str) -> Iterator[Run]:
    """Yields the runs that may contain a term; skipping the others saves most of the work on long texts."""
    folded = text.lower()
    if len(folded) != len(text) or not (term.isascii() or is_unspaced(term[0])):
        yield from iter_runs(text)  # a letter changed its length or its form: look everywhere
        return
    at = 0
    while (hit := folded.find(term, at)) >= 0:
        while hit > at and (text[hit - 1].isalnum() or text[hit - 1] == "_"):
            hit -= 1
        run = next(iter_runs(text, hit), None)
        if run is None:
            return
        yield run
        at = run.end


def expand_to_run(text: str, at: int) -> tuple[int, int]:
    """Returns where the run around a place begins and ends."""
    start = at
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    found = _RUN.compiled.match(text, at)
    return start, found.end() if found else at + 1


def has_run(text: str, start: int, end: int) -> bool:
    """Whether a run begins in this part of a text."""
    return _RUN.compiled.search(text, start, end) is not None


def iter_run_places(text: str) -> Iterator[re.Match[str]]:
    """Yields the runs of a text with their places."""
    return _RUN.compiled.finditer(text)


def find_forms(run: str) -> frozenset[str]:
    """Returns all words and stems of a run."""
    split = _split(run)
    return split.terms.union(one[1:] for one in split.stems)


@lru_cache(maxsize=32768)
def find_forms_in(run: str, language: str) -> frozenset[str]:
    """Returns the stems of the words of a run in a language."""
    return frozenset(stem_in(token.term, language) for token in _split(run).tokens if not is_unspaced(token.term[0]))


def _language_terms(runs: Iterable[str | bytes]) -> set[str]:
    """Returns the terms of the stems that the different runs of a text have in its language, if that is not English."""
    runs = list(runs)
    if not (language := detect_language(runs)):
        return set()
    stems = (find_forms_in(run if isinstance(run, str) else run.decode(), language) for run in runs)
    return set(map(stem_term, chain.from_iterable(stems)))


def tokenize(text: str, start: int = 0) -> Iterator[Token]:
    """Lists the terms of a text with their positions, in order."""
    for run in iter_runs(text, start):
        yield from run.tokens


class _RunCache(dict[str | bytes, _Known]):
    """What is known of the runs that were seen last: a text is looked up in C, not run by run."""

    def __init__(self) -> None:
        self._older: dict[str | bytes, _Known] = {}

    def __missing__(self, run: str | bytes) -> _Known:
        found = self._older.get(run)
        if found is None:
            found = _find_terms(run if isinstance(run, str) else run.decode())
        if len(run) <= MAX_TERM_CHARS:
            if len(self) >= _MAX_CACHED_RUNS:
                self._older = dict(self)
                self.clear()
            self[run] = found
        return found


def _find_terms(run: str) -> _Known:
    """Looks at a run for the cache; quickly, if it is a plain word or identifier."""
    if not run.isascii() or len(run) > MAX_TERM_CHARS:
        split = _split_run(run)
        codes = tuple(code % _PAIRS if code else _NO_CODE for code in split.codes)
        return (*split.terms, *split.stems), codes
    folded = run.lower()
    if folded == run and "_" not in run:
        root = stem(run) if run.isalpha() else run
        return ((run,) if root == run else (run, stem_term(root))), ((crc32(run.encode()) or 1) % _PAIRS,)
    pieces = run.split("_") if "_" in run else [run]
    parts = pieces if folded == run else [part for piece in pieces for part in _CAMEL.compiled.findall(piece)]
    tokens = [part.lower() for part in parts if part]
    found = {*tokens, folded.replace("_", "")} if len(tokens) > 1 else set(tokens)
    roots = {stem(token) for token in tokens if token.isalpha()} - found
    found.update(map(stem_term, roots))
    return tuple(found), tuple([(crc32(token.encode()) or 1) % _PAIRS for token in tokens])


_runs = _RunCache()


def extract_terms(text: str) -> set[str]:
    """The set of words, joined identifiers and pairs of characters that find a text."""
    found: set[str] = set()
    for run in dict.fromkeys(_RUN.compiled.findall(text)):
        found |= _split(run).terms
        if len(found) > MAX_TERMS:
            break
    return found


def extract_derived_terms(text: str) -> set[str]:
    """The set of stems and pairs of words of a text."""
    found: set[str] = set()
    pairs: set[int] = set()
    before, runs = 0, _RUN.compiled.findall(text)
    for run in runs:
        split = _split(run)
        found |= split.stems
        for code in split.codes:
            if before and code:
                pairs.add((before * 31 + code) % _PAIRS)
            before = code
        if len(found) > MAX_TERMS or len(pairs) > MAX_TERMS:
            found.add(ANY_PAIR)
            break
    return found.union(_to_pair_terms(pairs), _language_terms(dict.fromkeys(runs)))


def extract_all_terms(text: str) -> set[str]:
    """What `extract_terms` and `extract_derived_terms` find together, in a fraction of the time."""
    runs = text.encode().translate(_TO_SPACES).split() if text.isascii() else _RUN.compiled.findall(text)
    different = list(dict.fromkeys(runs))
    known = dict(zip(different, map(_runs.__getitem__, different), strict=True))
    found = set(chain.from_iterable(map(itemgetter(0), known.values())))
    codes = list(chain.from_iterable(map(itemgetter(1), map(known.__getitem__, runs))))
    sums = set(map(add, map(mul, codes, repeat(31)), islice(codes, 1, None)))
    if len(found) > MAX_TERMS or len(sums) > MAX_TERMS:
        return extract_terms(text) | extract_derived_terms(text)  # as far as the limits
    found.update(_to_pair_terms({one % _PAIRS for one in sums if one >= 0}), _language_terms(different))
    return found


def _to_pair_terms(numbers: Iterable[int]) -> Iterator[str]:
    return map(chr, map(_FIRST_PAIR.__add__, numbers))


def pair_term(first: str, second: str) -> str:
    """The term of messages that have two words in a row."""
    return chr(_FIRST_PAIR + (_word_code(first) * 31 + _word_code(second)) % _PAIRS)


def stem_term(root: str) -> str:
    """The term of messages that have another form of a stem than the stem itself."""
    return _STEM_MARK + root


def _word_code(term: str) -> int:
    return 0 if is_unspaced(term[0]) else crc32(term.encode("utf-8", "surrogatepass")) or 1


def stem_words(text: str) -> list[str]:
    """Returns the stems of a text in order, without stop words; identifiers also joined."""
    found: list[str] = []
    for run in iter_runs(text):
        found += [stem(token.term) for token in run.tokens if not is_stop_word(token.term)]
        if run.joined and len(run.tokens) > 1 and not is_unspaced(run.joined[0]):
            found.append(run.joined)
    return found


def tool_term(name: str) -> str:
    """The term of messages that call this tool or hold its result."""
    safe = "".join(c if c.isalnum() or ord(c) > 127 else chr(0xE100 + ord(c)) for c in escape(name.lower()))
    return _MARK + safe[:MAX_TERM_CHARS]


def clip_indexed_text(text: str, *, tool_output: bool) -> str:
    """The part of a text that is indexed: long tool output keeps its head and its tail."""
    if tool_output and len(text) > TOOL_HEAD_CHARS + TOOL_TAIL_CHARS:
        return text[:TOOL_HEAD_CHARS] + "\n…\n" + text[-TOOL_TAIL_CHARS:]
    return text[:MAX_CHARS]
