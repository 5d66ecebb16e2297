"""What is remembered of a session between scans: how it looked, and what it added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session import Contribution
from sojourn.achievements.totals import Listed
from sojourn.core.values import dataclass
from sojourn.ports.history import Moment, SessionFacts

FLAGS = {"port_conflict": "port_conflict_events"}  # fields that say yes or no about another field
UNTITLED = "Untitled"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The signals that show a changed session: new rows, rewinds, compaction. Its title is none of them."""

    updated_at: Moment
    message_count: int
    rows: int
    last_row: int
    rewinds: int

    @classmethod
    def of(cls, facts: SessionFacts) -> Fingerprint:
        return cls(facts.last_active, facts.active_rows, facts.rows, facts.last_row, facts.rewinds)


@dataclass(frozen=True, slots=True)
class Known:
    """A session that was read before."""

    fingerprint: Fingerprint
    contribution: Contribution


@dataclass(frozen=True, slots=True)
class Record:
    """A session of this scan and what it adds."""

    facts: SessionFacts
    contribution: Contribution


class Numbers(Protocol):
    """What badges look at, wherever it was added up."""

    def totals(self) -> dict[str, int]: ...

    def best(self, total: str) -> tuple[Record, int] | None:
        """The session that holds a record: the first in scan order among equals. None for totals that add up."""
        ...


class Sums:
    """All sessions at once. `before` saves adding up again what has not changed since."""

    def __init__(self, book: RuleBook, records: Sequence[Record], before: Sums | None = None) -> None:
        self._book, self._records = book, records
        self._by_id = {record.facts.id: record for record in records}
        if before is None:
            self._listed, gone, come = Listed(), list[Record](), records
            self._added = [0] * len(book.fields)
        else:
            self._listed, old = before._listed.copy(), before._by_id
            self._added = before._added
            gone = [record for key, record in old.items() if self._by_id.get(key) is not record]
            come = [record for record in records if old.get(record.facts.id) is not record]
        for record in come:
            self._listed.add(record.facts.started_at, record.facts.model)
        for record in gone:
            self._listed.take_away(record.facts.started_at, record.facts.model)
        self._added = _columns_added(self._added, come, gone)
        self._bests: dict[int, tuple[Record, int]] = {
            at: best
            for at, best in (before._bests if before else {}).items()
            if self._by_id.get(best[0].facts.id) is best[0] and all(_at(one, at) < best[1] for one in come)
        }

    def totals(self) -> dict[str, int]:
        found, fields = self._listed.totals(), self._book.fields
        for total in self._book.totals:
            at = fields.index(total.of)
            if total.how == "max":
                best = self._best(at)
                found[total.key] = best[1] if best else 0
            else:
                found[total.key] = self._added[at]
        return found

    def best(self, total: str) -> tuple[Record, int] | None:
        of = _recorded(self._book, total)
        return None if of is None else self._best(self._book.fields.index(of))

    def _best(self, at: int) -> tuple[Record, int] | None:
        """Looked for in all sessions only if the one that held it changed, or a changed one reaches it."""
        if at not in self._bests and self._records:
            column = [_at(record, at) for record in self._records]
            value = max(column)
            self._bests[at] = self._records[column.index(value)], value
        return self._bests.get(at)


def _at(record: Record, at: int) -> int:
    return record.contribution.values[at]


def _columns_added(start: Sequence[int], come: Sequence[Record], gone: Sequence[Record]) -> list[int]:
    more, less = (
        [sum(column) for column in zip(*(record.contribution.values for record in records), strict=True)]
        or [0] * len(start)
        for records in (come, gone)
    )
    return [a + b - c for a, b, c in zip(start, more, less, strict=True)]


class Tally:
    """The same one session at a time, for looking at a scan while it runs."""

    def __init__(self, book: RuleBook) -> None:
        self._book = book
        self._sums = [0] * len(book.fields)
        records = {total.of for total in book.totals if total.how == "max"}
        self._best: dict[int, tuple[int, int, Record] | None] = {  # value, -place in the scan
            at: None for at, key in enumerate(book.fields) if key in records
        }
        self._listed = Listed()

    def __len__(self) -> int:
        return self._listed.count

    def add(self, place: int, record: Record) -> None:
        """`place` is where the session stands in the scan, whenever it was counted."""
        values = record.contribution.values
        self._sums = list(map(int.__add__, self._sums, values))
        self._listed.add(record.facts.started_at, record.facts.model)
        for at, best in self._best.items():
            if best is None or (values[at], -place) > best[:2]:
                self._best[at] = values[at], -place, record

    def totals(self) -> dict[str, int]:
        found = self._listed.totals()
        for total in self._book.totals:
            at = self._book.fields.index(total.of)
            best = self._best.get(at)
            found[total.key] = self._sums[at] if total.how == "sum" else best[0] if best else 0
        return found

    def best(self, total: str) -> tuple[Record, int] | None:
        of = _recorded(self._book, total)
        best = None if of is None else self._best[self._book.fields.index(of)]
        return None if best is None else (best[2], best[0])


def _recorded(book: RuleBook, total: str) -> str | None:
    """The field whose record a total is; None for totals that add up."""
    return next((one.of for one in book.totals if one.key == total and one.how == "max"), None)


def totals(book: RuleBook, records: Sequence[Record]) -> dict[str, int]:
    """All totals of these sessions."""
    return Sums(book, records).totals()


def session_row(book: RuleBook, record: Record, title: str) -> dict[str, Any]:
    """All fields of one session, as they are shown and compared."""
    facts, numbers = record.facts, dict(zip(book.fields, record.contribution.values, strict=True))
    return {
        "session_id": facts.id,
        "title": title,
        "started_at": facts.started_at,
        "last_active": facts.last_active,
        "source": facts.source,
        "model_names": [facts.model] if facts.model else [],
        "tool_names": list(record.contribution.tool_names),
        **numbers,
        **{flag: bool(numbers.get(of)) for flag, of in FLAGS.items()},
    }


def display_titles(facts: Iterable[SessionFacts], previews: Mapping[str, str]) -> dict[str, str]:
    """A title, else the opening words, else a word that says there is neither."""
    return {one.id: one.title or previews.get(one.id) or UNTITLED for one in facts}
