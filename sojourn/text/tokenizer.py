"""Tokenizer: splits text into search terms, the same for every store.

A message is indexed as a *set* of terms; `text.query` checks order and adjacency on the text itself, so every store
finds the same hits and the index stays small.

- Words are lower-cased; `snake_case`, `camelCase` and `HTTPServer` are split, and the joined form is a term too
  (`user`, `user_name` and `getusername` all find `getUserName`).
- Scripts without spaces (Chinese, Japanese, Korean, Thai …) become overlapping pairs of characters; the last character
  of a run is also a term of its own, so that a single character can be found.
- The number of terms of a message and the length of a term are limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sojourn.text.escape import escape
from sojourn.text.lazy_pattern import LazyPattern

TOKENIZER_VERSION = 1  # grows when the meaning changes; stores then build their index again

MAX_TERM_CHARS = 64
MAX_TERMS = 4096
MAX_CHARS = 60_000
TOOL_HEAD_CHARS, TOOL_TAIL_CHARS = 6_000, 2_000

_RUN = LazyPattern(r"\w+")
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"  # Jamo, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"  # Han, Hangul
    "\U00020000-\U0003134f"
)
_PIECE = LazyPattern(f"[{_UNSPACED}]+|[^{_UNSPACED}_]+")
_IS_UNSPACED = LazyPattern(f"[{_UNSPACED}]")
_CAMEL = LazyPattern(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[^A-Z]+|[A-Z]+")
_MARK = "\ue000"  # opens a term that is not text: the name of a tool


class Token(NamedTuple):
    """A term and its position in the text."""

    term: str
    start: int
    end: int


class _Split(NamedTuple):
    """One run of letters, split into tokens."""

    tokens: tuple[Token, ...]  # in order of reading
    joined: str  # the whole identifier in one piece, if it has several parts
    terms: frozenset[str]  # all terms that find it


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
    return _Split(tuple(tokens), joined, frozenset(found))


_split_cached = lru_cache(maxsize=32768)(_split_run)


def is_unspaced(character: str) -> bool:
    """Whether the character belongs to a script that is written without spaces."""
    return _IS_UNSPACED.compiled.match(character) is not None


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


def tokenize(text: str, start: int = 0) -> Iterator[Token]:
    """Lists the terms of a text with their positions, in order."""
    for run in iter_runs(text, start):
        yield from run.tokens


def extract_terms(text: str) -> set[str]:
    """The set of terms that find a text."""
    found: set[str] = set()
    for run in dict.fromkeys(_RUN.compiled.findall(text)):
        found |= _split(run).terms
        if len(found) > MAX_TERMS:
            break
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
