"""The sessions of a store as a scanner saw them last: only what the feed of changes names is asked for again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn.ports.history import Changes, SessionFacts
from sojourn.text.escape import unescape

# id, source, title, model, started at, archived, rewinds, whose, order of insertion, rows, live rows, last row, newest
FactsRow = tuple[Any, ...]


class KnownFacts:
    """In the order of a listing. A session that still looks the same is the same object, so nobody compares twice."""

    def __init__(self) -> None:
        self._known: dict[bytes, SessionFacts] = {}
        self._listed: list[SessionFacts] | None = None

    def __len__(self) -> int:
        return len(self._known)

    def list_again(self, rows: Iterable[FactsRow]) -> None:
        """These are all there are."""
        before, self._known = self._known, {}
        for row in rows:
            self._known[row[0]] = _seen(row, before.get(row[0]))
        self._listed = None

    def change(self, touched: Iterable[bytes], rows: Iterable[FactsRow]) -> Changes:
        """These were touched, and that is how they look now; one that has no row is gone. Says what is different."""
        found = {row[0]: row for row in rows}
        different, gone = list[SessionFacts](), list[str]()
        for id_ in touched:
            before = self._known.pop(id_, None)
            if id_ in found:
                now = self._known[id_] = _seen(found[id_], before)
                different += [now] if now is not before else []
            elif before is not None:
                gone.append(before.id)
        self._listed = None
        return Changes(tuple(different), tuple(gone))

    def listed(self) -> list[SessionFacts]:
        """Newest start first, ties in order of insertion."""
        if self._listed is None:
            self._listed = sorted(self._known.values(), key=lambda one: (-one.started_at, one.born))
        return list(self._listed)


def _seen(row: FactsRow, before: SessionFacts | None) -> SessionFacts:
    id_, source, title, model, started, archived, rewinds, whose, born, rows, live, last, newest = row
    facts = SessionFacts(
        id=id_.decode(),
        source=_text(source),
        title=_text(title),
        model=_text(model),
        started_at=started,
        archived=bool(archived),
        rewinds=rewinds,
        rows=rows or 0,
        active_rows=live or 0,
        last_row=last or 0,
        last_active=newest if newest is not None else started,
        principal=whose.decode(),
        born=born,
    )
    return before if before == facts else facts


def _text(value: bytes | None) -> str | None:
    return None if value is None else unescape(value.decode("utf-8", "replace"))
