"""The syntax of text patterns, its parser, and its translation to `re`.

An alternative is literal text in which these tokens stand for something else:

    [b]            a word boundary
    [ws+] [ws*]    one or more / any number of whitespace characters, line feeds included
    [..]           the rest of the line, as far as the remainder of the pattern allows
    [id+]          one or more of a-z, 0-9, `_` and `-`
    [x?]           the character x, or nothing
    [quote?]       " or ' or nothing
    {a,b}          a or b, tried in that order; may hold tokens

Matching is leftmost-first: at each place the alternatives are tried as written and the first one that fits
wins. Choices and options are spelled out while parsing, so that every `Sequence` is a plain row of pieces.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from itertools import product

from sojourn.badge_rules import WordPattern
from sojourn.core.errors import BadInput


class PatternToken(Enum):
    """A piece that is not literal text. The value is its regex."""

    EDGE = r"\b"
    SPACES = r"\s+"
    MAYBE_SPACES = r"\s*"
    REST = r"[^\n]*"
    IDENT = r"[A-Za-z0-9_\-]+"


Piece = str | PatternToken
_TOKENS = {
    "b": PatternToken.EDGE,
    "ws+": PatternToken.SPACES,
    "ws*": PatternToken.MAYBE_SPACES,
    "..": PatternToken.REST,
    "id+": PatternToken.IDENT,
}
_HELP = "The tokens are listed in achievements/pattern_syntax.py."
_SCAN = re.compile(r"\[([^\]]+)\]|\{([^{}]*)\}|([^\[\]{}]+)")


@dataclass(frozen=True, slots=True)
class Sequence:
    """One alternative without choices: pieces that must follow each other."""

    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str | None:
        """The literal text, when there is nothing else but word boundaries around it."""
        inner = [piece for piece in self.pieces if piece is not PatternToken.EDGE]
        return inner[0] if len(inner) == 1 and isinstance(inner[0], str) else None

    def has(self, token: PatternToken) -> bool:
        return token in self.pieces

    def split_at_rest(self) -> list[Sequence]:
        """Splits the row at its [..] tokens."""
        parts: list[list[Piece]] = [[]]
        for piece in self.pieces:
            if piece is PatternToken.REST:
                parts.append([])
            else:
                parts[-1].append(piece)
        return [Sequence(tuple(part)) for part in parts]

    @property
    def starts_at_edge(self) -> bool:
        return self.pieces[0] is PatternToken.EDGE

    @property
    def ends_at_edge(self) -> bool:
        return self.pieces[-1] is PatternToken.EDGE


def parse_pattern(pattern: WordPattern) -> tuple[Sequence, ...]:
    """Parses a pattern into its alternatives without choices, in the order in which they are tried."""
    rows = []
    for written in pattern.alternatives:
        for row in _expand(written):
            _check(row, written)
            rows.append(row)
    return tuple(rows)


def to_re(rows: tuple[Sequence, ...]) -> str:
    """Translates the alternatives to a regex, to be compiled with IGNORECASE."""
    return "|".join(
        "".join(piece.value if isinstance(piece, PatternToken) else re.escape(piece) for piece in row.pieces)
        for row in rows
    )


def _expand(written: str) -> list[Sequence]:
    return [_join([piece for part in row for piece in part]) for row in product(*_parse_parts(written))]


def _parse_parts(written: str) -> list[list[tuple[Piece, ...]]]:
    """For each part of the source, its possible rows of pieces in order of preference."""
    parts: list[list[tuple[Piece, ...]]] = []
    at = 0
    while at < len(written):
        found = _SCAN.match(written, at)
        if found is None:
            raise BadInput(f"The pattern {written!r} is not closed at character {at}.", hint=_HELP)
        token, choice, literal = found.groups()
        if literal is not None:
            parts.append([(literal,)])
        elif choice is not None:
            parts.append([row.pieces for one in choice.split(",") for row in _expand(one)])
        elif token in _TOKENS:
            parts.append([(_TOKENS[token],)])
        elif token == "quote?":
            parts.append([('"',), ("'",), ()])
        elif len(token) == 2 and token[1] == "?":
            parts.append([(token[0],), ()])
        else:
            raise BadInput(f"The pattern {written!r} has an unknown token [{token}].", hint=_HELP)
        at = found.end()
    return parts


def _join(pieces: list[Piece]) -> Sequence:
    """Joins adjacent literals and lower-cases them."""
    row: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and row and isinstance(row[-1], str):
            row[-1] += piece.lower()
        elif isinstance(piece, str):
            row.append(piece.lower())
        else:
            row.append(piece)
    return Sequence(tuple(row))


def _check(row: Sequence, written: str) -> None:
    """Rejects rows that the scanner could not count exactly. Raises BadInput."""
    if not any(isinstance(piece, str) for piece in row.pieces):
        raise BadInput(f"The pattern {written!r} has no letters to look for.", hint="Add some literal text.")
    neighbours = zip((None, *row.pieces), row.pieces, (*row.pieces[1:], None), strict=False)
    for before, piece, after in neighbours:
        if isinstance(piece, str) and not piece.isascii():
            raise BadInput(f"The pattern {written!r} has letters beyond ASCII.", hint="Write it in ASCII.")
        if piece is PatternToken.EDGE:
            opens = before in (None, PatternToken.REST) and _touches(after, 0)
            closes = after in (None, PatternToken.REST) and _touches(before, -1)
            if not (opens or closes):
                raise BadInput(f"The pattern {written!r} has a misplaced [b].", hint="It opens or closes a word.")


def _touches(piece: Piece | None, side: int) -> bool:
    """Whether the piece has a word character at its start (`side` 0) or end (-1)."""
    if isinstance(piece, str):
        return piece[side].isalnum() or piece[side] == "_"
    return piece is PatternToken.IDENT and side == 0
