"""Search query: parses it, and decides whether a text matches.

A store selects candidates by terms (`text.tokenizer`); this module decides, so that every store agrees.

    words                 all of them, anywhere in the message
    "two words"           one after the other
    get_user  getUser     an identifier, however it is spelled
    conf*                 a beginning
    错误信息               characters in a row
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

from sojourn.core.errors import BadInput
from sojourn.text.tokenizer import (
    ANY_PAIR,
    MAX_TERM_CHARS,
    Run,
    Token,
    extract_terms,
    iter_runs,
    iter_runs_with,
    pair_term,
    tokenize,
)
from sojourn.text.writing_systems import is_unspaced

MAX_QUERY_CHARS = 2048
MAX_PHRASE_TERMS = 64  # terms in a row that are looked at
FIRST_TITLE_RANK = 2**52  # titles come before messages: their hits are numbered down from here, far above any row
_WORD = re.compile(r'"([^"]*)"?|(\S+)')


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition: terms in a row, or the same identifier joined."""

    phrase: tuple[str, ...]
    joined: str = ""
    prefix: bool = False  # the last term is a beginning
    shared: tuple[bool, ...] = ()  # whether each term after the first shares a character with the one before it

    @property
    def needs_check(self) -> bool:
        """Whether the text itself must be checked."""
        return len(self.phrase) > 1

    def to_conditions(self, *, pairs: bool) -> list[tuple[str, ...]]:
        """Returns what an index must have: of each tuple at least one term. A term that ends in `*` is a beginning.

        pairs: whether the index has terms for pairs of words
        """
        last = self.phrase[-1] + ("*" if self.prefix else "")
        conditions: list[tuple[str, ...]] = [(term,) for term in (*self.phrase[:-1], last)]
        if pairs:
            whole = self.phrase[:-1] if self.prefix else self.phrase
            spaced = [pair for pair in pairwise(whole) if not is_unspaced(pair[0][0]) and not is_unspaced(pair[1][0])]
            conditions = [*((pair_term(*pair), ANY_PAIR) for pair in spaced), *conditions]  # the rarest first
        return [(*one, self.joined) for one in conditions] if self.joined else conditions


@dataclass(frozen=True, slots=True)
class Snippet:
    """The part of a text that matches a query, and the matching characters."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


def parse_query(query: str) -> tuple[Clause, ...]:
    """Parses a query into clauses that must all hold. BadInput if it has no word."""
    return tuple(dict.fromkeys(clause for clause, _ in parse_clauses(query)))


def parse_clauses(query: str) -> list[tuple[Clause, bool]]:
    """Parses a query into clauses, each with whether it was quoted or is a beginning. BadInput if it has no word."""
    clauses = [clause for hit in _WORD.finditer(query[:MAX_QUERY_CHARS]) if (clause := _parse_clause(hit))]
    if not clauses:
        raise BadInput(f"There is no word to look for in {query!r}.", hint="Give at least one letter or digit.")
    return clauses


def _parse_clause(hit: re.Match[str]) -> tuple[Clause, bool] | None:
    quoted, word = hit[1], hit[2] or ""
    found = list(iter_runs(quoted if quoted is not None else word.rstrip("*")))
    stream = [token for run in found for token in run.tokens]
    if not stream:
        return None
    joined = found[0].joined if len(found) == 1 and quoted is None else ""
    is_beginning = word.endswith("*") or _is_lone(stream[-1].term)
    shared = [after.start < before.end for before, after in pairwise(stream[:MAX_PHRASE_TERMS])]
    phrase = tuple(token.term for token in stream[:MAX_PHRASE_TERMS])
    clause = Clause(phrase, joined, is_beginning and len(stream) <= MAX_PHRASE_TERMS, tuple(shared))
    return clause, quoted is not None or is_beginning


def _is_lone(term: str) -> bool:
    """A single character of a script without spaces, which texts contain as part of a pair."""
    return len(term) == 1 and is_unspaced(term)


def matches_terms(clauses: Sequence[Clause], found: set[str]) -> bool:
    """Whether a set of terms may match the query, as an index would decide."""
    return all(_has_clause(clause, found) for clause in clauses)


def _has_clause(clause: Clause, found: set[str]) -> bool:
    if clause.joined and clause.joined in found:
        return True
    *whole, last = clause.phrase
    if not all(term in found for term in whole):
        return False
    return any(term.startswith(last) for term in found) if clause.prefix else last in found


def matches_text(clauses: Sequence[Clause], text: str) -> bool:
    """Whether a text that has the terms has them in the right order."""
    return all(next(_find_places(clause, text), None) for clause in clauses if clause.needs_check)


def find_matches(clauses: Sequence[Clause], text: str) -> bool:
    """Whether a text matches the query, without an index."""
    return matches_terms(clauses, extract_terms(text)) and matches_text(clauses, text)


def _find_places(clause: Clause, text: str) -> Iterator[tuple[int, int]]:
    """Yields the places where a clause matches."""
    first = clause.phrase[0]
    if len(clause.phrase) == 1 and _is_lone(first):
        yield from ((hit.start(), hit.end()) for hit in re.finditer(re.escape(first), text))
        return
    for run in iter_runs_with(first, text):
        yield from _find_in_run(clause, text, run)


def _find_in_run(clause: Clause, text: str, run: Run) -> Iterator[tuple[int, int]]:
    """Yields the matches that begin in one run."""
    first, *rest = clause.phrase
    whole = clause.joined or ("" if rest else first)
    if run.joined and (run.joined == whole or (not rest and clause.prefix and run.joined.startswith(first))):
        yield run.start, run.end
        return
    is_lone = _is_lone(first)
    for at, token in enumerate(run.tokens):
        if (whole and token.term == whole) or (not rest and clause.prefix and token.term.startswith(first)):
            yield token.start, token.end
        elif rest and (token.term == first or (is_lone and token.term.endswith(first))):
            nearest = run.tokens[at + 1 : at + 1 + len(rest)]
            if end := _find_end(clause, token, islice(chain(nearest, tokenize(text, run.end)), len(rest))):
                yield (token.end - 1 if is_lone else token.start), end


def _find_end(clause: Clause, before: Token, following: Iterator[Token]) -> int:
    """Where the rest of a phrase ends, if it follows; else 0."""
    last = len(clause.phrase) - 1
    for number, token in enumerate(following, 1):
        term = clause.phrase[number]
        is_there = token.term == term or (clause.prefix and number == last and token.term.startswith(term))
        if not is_there or (token.start < before.end) != clause.shared[number - 1]:
            return 0
        if number == last:
            return token.end
        before = token
    return 0


def build_snippet(clauses: Sequence[Clause], text: str, *, width: int = 160) -> Snippet:
    """About `width` characters around the first match, with every match in it marked."""
    first = min((place for clause in clauses if (place := _find_first_place(clause, text))), default=(0, 0))
    return shorten_around(
        text, first, lambda shown: {place for clause in clauses for place in _find_places(clause, shown)}, width=width
    )


def shorten_around(
    text: str, first: tuple[int, int], find: Callable[[str], Iterable[tuple[int, int]]], *, width: int = 160
) -> Snippet:
    """About `width` characters around a place, with what `find` finds in them marked."""
    start = max(0, first[0] - width // 3)
    if start:
        start = text.rfind(" ", max(0, start - MAX_TERM_CHARS), start) + 1 or start
    shown = text[start : start + width]
    before, after = ("…" if start else ""), ("…" if start + width < len(text) else "")
    marks: list[tuple[int, int]] = []
    for a, b in sorted({*find(shown), _clip_place(first, start, shown)}):
        a = max(a, marks[-1][1] if marks else 0)
        if a < b:
            marks.append((a, b))
    flat = re.sub(r"[\x00-\x1f]", " ", shown)
    return Snippet(before + flat + after, tuple((a + len(before), b + len(before)) for a, b in marks))


def _find_first_place(clause: Clause, text: str) -> tuple[int, int] | None:
    """The first match; a joined identifier may be spelled in parts."""
    if place := next(_find_places(clause, text), None):
        return place
    whole = clause.phrase[0]
    found = (run for run in iter_runs(text) if run.joined == whole or (clause.prefix and run.joined.startswith(whole)))
    return next(((run.start, run.end) for run in found), None)


def _clip_place(place: tuple[int, int], start: int, shown: str) -> tuple[int, int]:
    return max(0, place[0] - start), min(len(shown), place[1] - start)
