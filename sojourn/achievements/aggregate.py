"""Every session that counts and what all of them add up to, kept up to date session by session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Protocol

from sojourn.achievements.aggregate_fields import Listed
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import Record

_Best = tuple[Record, int]


class Numbers(Protocol):
    """What badges look at."""

    def totals(self) -> dict[str, int]: ...

    def best(self, total: str) -> _Best | None:
        """The session that holds a record: the first in scan order among equals. None for totals that add up."""
        ...


class Ledger:
    """A change costs the same whether there are ten other sessions or ten thousand."""

    def __init__(self, book: RuleBook, records: Sequence[Record] = ()) -> None:
        self._book = book
        self._records: dict[str, Record] = {}
        self._listed = Listed()
        self._added = [0] * len(book.fields)
        self._bests: dict[int, _Best] = {}  # column → who holds its record, where that is known
        self.problems = 0  # malformed rows
        self.change(records)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, session: object) -> bool:
        return session in self._records

    def __iter__(self) -> Iterator[Record]:
        """In scan order, as of now: others may go on writing meanwhile."""
        now = list(self._records.values())
        return iter(sorted(now, key=lambda record: record.facts.order))

    def get(self, session: str) -> Record | None:
        return self._records.get(session)

    def change(self, come: Sequence[Record], gone: Iterable[str] = ()) -> None:
        """Puts sessions in, in the place of what they were, and takes others out. Nobody comes twice."""
        known = self._records
        before = [known[record.facts.id] for record in come if record.facts.id in known]
        before += [known.pop(session) for session in gone if session in known]
        known.update((record.facts.id, record) for record in come)
        for record in come:
            self._listed.add(record.facts.started_at, record.facts.model)
        for record in before:
            self._listed.take_away(record.facts.started_at, record.facts.model)
        self.problems += sum(map(_problems, come)) - sum(map(_problems, before))
        more, less = self._columns(come), self._columns(before)
        self._added = [old + new - away for old, new, away in zip(self._added, more, less, strict=True)]
        self._bests = {at: best for at, best in self._bests.items() if best[0].facts.id in known}
        for at, record in product(list(self._bests), come):
            self._challenge(at, record)

    def _columns(self, records: Sequence[Record]) -> list[int]:
        columns = zip(*(record.contribution.values for record in records), strict=True)
        return [sum(column) for column in columns] or [0] * len(self._added)

    def totals(self) -> dict[str, int]:
        found, fields = self._listed.totals(), self._book.fields
        for total in self._book.totals:
            at = fields.index(total.of)
            best = self._best(at) if total.how == "max" else None
            found[total.key] = self._added[at] if total.how == "sum" else best[1] if best else 0
        return found

    def best(self, total: str) -> _Best | None:
        of = next((one.of for one in self._book.totals if one.key == total and one.how == "max"), None)
        return None if of is None else self._best(self._book.fields.index(of))

    def _challenge(self, at: int, record: Record) -> None:
        """A session that came or changed takes a record, holds it, or leaves it open because it held it and fell."""
        if at not in self._bests:
            return
        holder, value = self._bests[at]
        now = record.contribution.values[at]
        if holder.facts.id == record.facts.id:
            if now > value or (now == value and holder.facts.order == record.facts.order):
                self._bests[at] = record, now
            else:
                del self._bests[at]
        elif now > value or (now == value and record.facts.order < holder.facts.order):
            self._bests[at] = record, now

    def _best(self, at: int) -> _Best | None:
        """Looked for among all sessions only where it is not known."""
        if at not in self._bests and self._records:
            column = [record.contribution.values[at] for record in self._records.values()]
            value = max(column)
            equals = (record for record, one in zip(self._records.values(), column, strict=True) if one == value)
            self._bests[at] = min(equals, key=lambda record: record.facts.order), value
        return self._bests.get(at)


def _problems(record: Record) -> int:
    return record.contribution.problems + record.facts.malformed
