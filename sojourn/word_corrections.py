"""Word corrections: "did you mean" for the words of a search that nobody ever said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.text.rank import MAX_WORDS
from sojourn.text.stemming import is_stop_word
from sojourn.text.tokenizer import tokenize

MAX_CORRECTED = 4  # words of a search that are looked at
_MIN_WORD_CHARS, _MAX_WORD_CHARS = 4, 24
_HITS = 30  # that show which of the candidates people have written
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
Search = Callable[[SearchQuery], Awaitable[Sequence[SearchHit]]]


async def find_corrections(search: Search, query: SearchQuery) -> dict[str, str]:
    """Returns the words of a search that are nowhere, each with the nearest word that is somewhere."""
    found: dict[str, str] = {}
    for word in list(dict.fromkeys(token.term for token in tokenize(query.text)))[:MAX_CORRECTED]:
        if not _may_be_wrong(word) or await search(_ask_for(query, [word], 1)):
            continue
        if nearest := await _find_nearest(search, query, word):
            found[word] = nearest
    return found


def _may_be_wrong(word: str) -> bool:
    is_word = word.isascii() and word.isalpha() and _MIN_WORD_CHARS <= len(word) <= _MAX_WORD_CHARS
    return is_word and not is_stop_word(word)


def _ask_for(query: SearchQuery, words: Sequence[str], limit: int) -> SearchQuery:
    return replace(query, text=" ".join(words), order="relevance", limit=limit, before=None)


async def _find_nearest(search: Search, query: SearchQuery, word: str) -> str:
    """Returns the word within one edit that most of the best messages have; "" if there is none."""
    edits = list(dict.fromkeys(iter_edits(word)))
    for start in range(0, len(edits), MAX_WORDS):
        candidates = edits[start : start + MAX_WORDS]
        hits = await search(_ask_for(query, candidates, _HITS))
        seen = Counter(
            term
            for hit in hits
            for start, end in hit.snippet.marks
            for term in {token.term for token in tokenize(hit.snippet.text[start:end])}
            if term in candidates
        )
        if seen:
            return seen.most_common(1)[0][0]
    return ""


def iter_edits(word: str) -> Iterator[str]:
    """Yields words within one edit, the likeliest first: letters swapped, one too many, missing, changed."""
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield from (head + tail[1] + tail[0] + tail[2:] for head, tail in halves if len(tail) > 1 and tail[0] != tail[1])
    yield from (head + tail[1:] for head, tail in halves if tail)
    yield from (head + letter + tail for head, tail in halves for letter in _LETTERS)
    yield from (head + letter + tail[1:] for head, tail in halves if tail for letter in _LETTERS if letter != tail[0])
