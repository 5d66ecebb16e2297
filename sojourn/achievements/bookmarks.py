"""Reading on: of a session that was read before and only grew since, the new rows are enough.

The text of a session is one text, and a hit may begin in one message and end in the next. So a bookmark is put where
none can: behind a message whose last letter is no letter after which a pattern allows spaces.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass

from sojourn.achievements.pattern_syntax import Piece, Token, sequences
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_scanner import Contribution, SessionScanner, Stretch
from sojourn.achievements.workers import Counted, count_here
from sojourn.core.badges import WordPattern
from sojourn.core.errors import StoreCorrupt
from sojourn.ports.history import CanReadTail, History, RawMessage, SessionFacts

MOST = 64  # sessions; few are written at the same time
_SPACES = (Token.SPACES, Token.MAYBE_SPACES)
_FOLDED = {"\u0130": "i", "\u0131": "i", "\u017f": "s", "\u212a": "k"}  # ignoring case makes them equal
_ENOUGH = 64  # bytes at the end of a message that nearly always hold a letter


@dataclass(frozen=True, slots=True)
class _Bookmark:
    """How far a session was read, and how it looked then."""

    row: int
    read: Stretch
    rewinds: int
    removed: int


class Bookmarks:
    """Counts sessions in this process, each from where it was left."""

    def __init__(self, book: RuleBook, history: History, scanner: Callable[[], SessionScanner]) -> None:
        self._history, self._scanner = history, scanner
        self._joints = joints(book)
        self._known: OrderedDict[str, _Bookmark] = OrderedDict()

    def keep(self, sessions: Container[object]) -> None:
        """Forgets all others."""
        for session in [one for one in self._known if one not in sessions]:
            del self._known[session]

    def rows_ahead(self, facts: SessionFacts) -> int:
        """How many rows of a session there probably are to read."""
        left = self._known.get(facts.id)
        return facts.active_rows if left is None else max(0, facts.active_rows - left.read.rows)

    def count(self, sessions: Sequence[SessionFacts]) -> Iterator[Counted]:
        """What each session adds; None when its rows are damaged."""
        history = self._history
        if self._joints is None or not isinstance(history, CanReadTail):
            yield from count_here(self._scanner(), history, [facts.id for facts in sessions])
            return
        for facts in sessions:
            try:
                yield facts.id, self._read_on(history, facts)
            except StoreCorrupt:
                self._known.pop(facts.id, None)
                yield facts.id, None

    def _read_on(self, history: CanReadTail, facts: SessionFacts) -> Contribution:
        scanner = self._scanner()
        left = self._known.pop(facts.id, None)
        if left is not None and (left.rewinds, left.removed) == (facts.rewinds, facts.rows - facts.active_rows):
            rows = history.rows_after(facts.id, left.row)
            if left.read.rows + len(rows) == facts.active_rows:
                return self._marked(scanner, facts, left, rows)
        start = _Bookmark(0, scanner.stretch(()), facts.rewinds, facts.rows - facts.active_rows)
        return self._marked(scanner, facts, start, history.rows_after(facts.id, 0))

    def _marked(
        self, scanner: SessionScanner, facts: SessionFacts, left: _Bookmark, rows: list[RawMessage]
    ) -> Contribution:
        """Counts what follows a bookmark, and moves it as far as it can stand."""
        cut = self._last_cut(scanner.read(rows).texts)
        read = left.read + scanner.stretch(rows[:cut]) if cut else left.read
        at = rows[cut - 1][0] if cut else left.row
        self._known[facts.id] = _Bookmark(at, read, left.rewinds, left.removed)
        while len(self._known) > MOST:
            self._known.popitem(last=False)
        return scanner.judged(read + scanner.stretch(rows[cut:]) if cut < len(rows) else read)

    def _last_cut(self, texts: Sequence[bytes]) -> int:
        """After how many of these messages no hit can go on in the next; 0 is where the bookmark stood before."""
        at = len(texts)
        while at:
            last = at
            while last and not (end := _last_letter(texts[last - 1])):
                last -= 1
            if not last or end not in (self._joints or ()):
                return at
            at = last - 1
        return 0


def joints(book: RuleBook) -> frozenset[str] | None:
    """The letters after which some pattern allows spaces; None when it may be any."""
    found: set[str] = set()
    for rule in book.metrics:
        for pattern in rule.patterns:
            for row in sequences(pattern) if isinstance(pattern, WordPattern) else ():
                for before, piece in zip((None, *row.pieces), row.pieces, strict=False):
                    if piece in _SPACES:
                        letters = _ends(before)
                        if letters is None:
                            return None
                        found |= letters
    return frozenset(found)


def _ends(piece: Piece | None) -> set[str] | None:
    return {piece[-1]} if isinstance(piece, str) else None


def _last_letter(text: bytes) -> str:
    """The last character that is no space, with its case ignored; empty when there is none."""
    end = text[-_ENOUGH:].decode("utf-8", "ignore").rstrip() or text.decode("utf-8", "replace").rstrip()
    return _FOLDED.get(end[-1], end[-1].lower()) if end else ""
