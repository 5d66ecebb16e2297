"""Cache of session facts for scanners: after the first read, only the sessions in the change feed are read again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sojourn.ports.history import HistoryChanges, SessionFacts
from sojourn.text.escape import unescape

# id, source, title, model, started_at, archived, rewind_count, principal, order of insertion, number of messages,
# number of active messages, id and timestamp of the last message
FactsRow = tuple[Any, ...]


class SessionFactsCache:
    """Facts by session id. An unchanged session stays the same object, so callers can compare by identity."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, SessionFacts] = {}
        self._sorted: list[SessionFacts] | None = None

    def __len__(self) -> int:
        return len(self._by_id)

    def replace_all(self, rows: Iterable[FactsRow]) -> None:
        """Replaces the cache with the rows of all sessions."""
        before, self._by_id = self._by_id, {}
        for row in rows:
            self._by_id[row[0]] = _facts_from(row, before.get(row[0]))
        self._sorted = None

    def update(self, ids: Iterable[bytes], rows: Iterable[FactsRow]) -> HistoryChanges:
        """Updates some sessions and returns what changed. An id without a row was deleted."""
        row_of = {row[0]: row for row in rows}
        changed, deleted = list[SessionFacts](), list[str]()
        for id_ in ids:
            before = self._by_id.pop(id_, None)
            if id_ in row_of:
                now = self._by_id[id_] = _facts_from(row_of[id_], before)
                changed += [now] if now is not before else []
            elif before is not None:
                deleted.append(before.id)
        self._sorted = None
        return HistoryChanges(tuple(changed), tuple(deleted))

    def list_sorted(self) -> list[SessionFacts]:
        """Returns all facts, newest start first, ties in order of insertion."""
        if self._sorted is None:
            self._sorted = sorted(self._by_id.values(), key=lambda one: (-one.started_at, one.born))
        return list(self._sorted)


def _facts_from(row: FactsRow, before: SessionFacts | None) -> SessionFacts:
    id_, source, title, model, started, archived, rewinds, principal, born, rows, active, last, newest = row
    facts = SessionFacts(
        id=id_.decode(),
        source=_decode(source),
        title=_decode(title),
        model=_decode(model),
        started_at=started,
        archived=bool(archived),
        rewinds=rewinds,
        rows=rows or 0,
        active_rows=active or 0,
        last_row=last or 0,
        last_active=newest if newest is not None else started,
        principal=principal.decode(),
        born=born,
    )
    return before if before == facts else facts


def _decode(value: bytes | None) -> str | None:
    return None if value is None else unescape(value.decode("utf-8", "replace"))
