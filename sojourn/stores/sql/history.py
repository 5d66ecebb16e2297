"""What the histories of both databases share: the cache of session facts, and the decoding of raw rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from sojourn.ports.history import HistoryChanges, SessionFacts
from sojourn.text.escape import to_bytes, unescape

RawRow = TypeVar("RawRow", bound=tuple[Any, ...])
FactsRow = tuple[Any, ...]  # the columns of SELECT_FACTS; texts are bytes
SELECT_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, s.principal, s.{born},
       m.rows, m.active_rows, m.last_row, m.newest
FROM sessions s LEFT JOIN (
    SELECT session_id, count(*) AS rows, CAST(sum(active) AS BIGINT) AS active_rows, max(id) AS last_row,
           max(timestamp) AS newest
    FROM messages {where} GROUP BY session_id
) m ON m.session_id = s.id WHERE s.trashed_at IS NULL {and_too}
"""


class SessionFactsCache:
    """Facts by session id. An unchanged session stays the same object, so callers can compare by identity."""

    def __init__(self) -> None:
        self._by_id: dict[bytes, SessionFacts] = {}
        self._sorted: list[SessionFacts] | None = None
        self._position = -1  # of the change feed, up to which the facts were read

    def __len__(self) -> int:
        return len(self._by_id)

    def refresh(
        self,
        position: int,
        count: int,
        read_changed_ids: Callable[[int], list[bytes]],
        read_facts: Callable[[Sequence[bytes] | None], Iterable[FactsRow]],
    ) -> HistoryChanges | None:
        """Reads the sessions that changed; returns None if the feed is inconsistent and all were read anew.

        Args:
            position: the newest position of the feed.
            count: the number of sessions in the store.
            read_changed_ids: reads the ids of the sessions that changed after a position.
            read_facts: reads the rows of some sessions; None means all.
        """
        changes = None
        if 0 <= self._position <= position:
            ids = read_changed_ids(self._position)
            changes = self.update(ids, read_facts(ids) if ids else ())
        if count != len(self):
            changes = None  # the database was replaced by another one
        if changes is None:
            self.replace_all(read_facts(None))
        self._position = position
        return changes

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


def unescape_row(row: RawRow) -> RawRow:
    """Reverses `escape` in the raw texts of a row; few rows need it."""
    if not any(isinstance(value, bytes) and b"\x1a" in value for value in row):
        return row
    return tuple(unescape_bytes(value) if isinstance(value, bytes) else value for value in row)  # type: ignore[return-value]


def unescape_bytes(text: bytes) -> bytes:
    return to_bytes(unescape(text.decode("utf-8", "replace")))
