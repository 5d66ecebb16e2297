"""The sessions of a Hermes database as they were seen last, and what became of them since.

Hermes keeps no list of what it changed. While it runs, its write-ahead log tells which rows were written, and only
those are looked at. Once it has closed, the log is gone: then every session is compared, though none is read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sojourn.importers.sqlite_reader import columns
from sojourn.importers.wal import LogEnd, written_since
from sojourn.ports.history import Changes, Moment, SessionFacts

_TOGETHER = 500  # numbers in one question
_Row = tuple[Any, ...]  # row number, id, source, title, model, started at, rewinds, archived
_Count = tuple[int, int, Any, int, int]  # rows, live rows, newest time, last row, removed rows
_NO_ROWS: _Count = (0, 0, None, 0, 0)


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked about sessions, in the words of this database's version: old ones lack some columns."""

    rows: str
    text: str  # all of `rows` as one text, which is compared in a moment
    counts: str  # per session that has rows
    count: str
    removed: str  # the sessions with removed rows, found by index; empty where that would mean reading everything

    @classmethod
    def of(cls, db: sqlite3.Connection) -> Questions:
        session_has, can_remove = columns(db, "sessions"), "active" in columns(db, "messages")
        wanted = ("source", "title", "model", "started_at", "rewind_count")
        facts = ", ".join(name if name in session_has else "NULL" for name in wanted)
        archived = "archived IS NOT 0" if "archived" in session_has else "0"  # nobody repairs an unknown one
        dead = "ifnull(SUM(active IS NOT NULL AND active <> 1), 0)" if can_remove else "0"
        removed = "ifnull(SUM(active = 0), 0)" if can_remove else "0"
        numbers = f"COUNT(*), COUNT(*) - {dead}, MAX(timestamp), ifnull(MAX(id), 0), {removed}"
        by_index = """SELECT id, removed FROM (SELECT id, (SELECT COUNT(*) FROM messages WHERE session_id = s.id
            AND active = 0) AS removed FROM sessions s) WHERE removed > 0"""
        return cls(
            rows=f"SELECT rowid, id, {facts}, {archived} FROM sessions",
            text=f"SELECT json_group_array(json_array(rowid, id, {facts}, {archived})) FROM sessions",
            counts=f"SELECT session_id, {numbers} FROM messages GROUP BY 1",
            count=f"SELECT {numbers} FROM messages WHERE session_id = CAST(?1 AS TEXT)",
            removed=by_index if can_remove and _is_by_index(db, by_index) else "",
        )


def _is_by_index(db: sqlite3.Connection, query: str) -> bool:
    return any(b"session_id=? AND active=?" in row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))


class SeenSessions:
    """Asked within a transaction, so that all of an answer is of one moment."""

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._is_known = False
        self._facts: dict[bytes, SessionFacts] = {}
        self._rows: dict[bytes, _Row] = {}
        self._numbers: dict[int, bytes] = {}  # row number → id
        self._text: bytes | None = None  # of all rows, if it is theirs
        self._counts: dict[bytes, _Count] = {}
        self._last, self._total = 0, 0  # of the messages: their highest number, and how many there are
        self._end: _Row | None = None  # what stood there
        self._log: LogEnd | None = None

    def listed(self) -> list[SessionFacts]:
        return sorted(self._facts.values(), key=lambda facts: facts.order)

    def look(self, db: sqlite3.Connection, ask: Questions, database: Path, log: LogEnd | None) -> Changes | None:
        """What is different since the last look; None at the first, and after one that was not found good.

        `log` is where the log ends at the moment of this transaction, if that is known.
        """
        is_first = not self._is_known
        if is_first:
            self._forget()
        self._is_known = False
        last = _one(db, "SELECT MAX(id) FROM messages")
        touched = self._written(db, ask, database, log)
        if touched is None:
            touched = self._rows_again(db, ask) | self._counts_again(db, ask)
        changes = self._compared(touched)
        self._last, self._end, self._log = last, _message(db, last), log
        return None if is_first else changes

    def found_good(self) -> None:
        """The last look was of one piece: the next one may build on it."""
        self._is_known = True

    def _compared(self, touched: Iterable[bytes]) -> Changes:
        """A session that still looks the same is no change."""
        come, gone = list[SessionFacts](), list[str]()
        for id_ in touched:
            before, row = self._facts.get(id_), self._rows.get(id_)
            if row is not None:
                now = _made(row, self._counts.get(id_, _NO_ROWS))
                if now != before:
                    self._facts[id_] = now
                    come.append(now)
            elif before is not None:
                del self._facts[id_]
                gone.append(before.id)
        return Changes(tuple(come), tuple(gone))

    # -- by the log --------------------------------------------------------

    def _written(self, db: sqlite3.Connection, ask: Questions, database: Path, log: LogEnd | None) -> set[bytes] | None:
        """The sessions that were written, and some that only stand beside them; None when a list has to tell."""
        written = written_since(database, self._log, log) if self._log is not None and log is not None else None
        if written is None:
            return None
        names = {row[0] for row in _in_pieces(db, "SELECT DISTINCT session_id FROM messages WHERE id IN", written.rows)}
        there = {row[0]: row for row in _in_pieces(db, f"{ask.rows} WHERE rowid IN", written.rows)}
        for name in names:
            there.update((row[0], row) for row in db.execute(f"{ask.rows} WHERE id = CAST(?1 AS TEXT)", (name,)))
        root = _one(db, "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = 'sessions'")
        stood = {number for number in {*written.rows, *there} if number in self._numbers}
        left = len(self._numbers) - len(stood) + len(there)
        if left != _one(db, "SELECT COUNT(*) FROM sessions") or not written.is_all_in(root, there):
            return None  # some are gone without a trace, or a page was written that could be of any row
        self._text = None
        touched = names | {self._numbers.pop(number) for number in stood}
        for id_ in touched:
            self._rows.pop(id_, None)
        touched |= self._keep(there.values())
        for id_ in touched:
            before, now = self._counts.get(id_, _NO_ROWS), db.execute(ask.count, (id_,)).fetchone()
            self._counts[id_], self._total = now, self._total + now[0] - before[0]
        return touched

    def _keep(self, rows: Iterable[_Row]) -> set[bytes]:
        """Remembers rows; says of which sessions. A row without an id is none."""
        kept = {row[0]: row[1] if isinstance(row[1], bytes) else b"" for row in rows}
        self._numbers |= kept
        self._rows |= {row[1]: row for row in rows if kept[row[0]]}
        return set(kept.values())

    # -- by comparing all --------------------------------------------------

    def _rows_again(self, db: sqlite3.Connection, ask: Questions) -> set[bytes]:
        text = _as_one_text(db, ask)
        if text is not None and text == self._text:
            return set()
        before, self._rows, self._numbers = self._rows, {}, {}
        self._keep(db.execute(ask.rows).fetchall())
        self._text = text
        return {id_ for id_, _ in before.items() ^ self._rows.items()}

    def _counts_again(self, db: sqlite3.Connection, ask: Questions) -> set[bytes]:
        """Counted once; after that only where rows came or were removed."""
        total = _one(db, "SELECT COUNT(*) FROM messages")
        changed = self._recounted(db, ask, total) if self._last and ask.removed else None
        if changed is None:
            before, self._counts = self._counts, {row[0]: row[1:] for row in db.execute(ask.counts)}
            changed = {id_ for id_, _ in before.items() ^ self._counts.items()}
        self._total = total
        return changed

    def _recounted(self, db: sqlite3.Connection, ask: Questions, total: int) -> set[bytes] | None:
        """The sessions that were counted again; None when rows are gone, or are others: then all have to be."""
        new = [row[0] for row in db.execute("SELECT session_id FROM messages WHERE id > ?1", (self._last,))]
        if total != self._total + len(new) or _message(db, self._last) != self._end:
            return None
        before = {id_: count[4] for id_, count in self._counts.items() if count[4]}
        changed = {id_ for id_, _ in before.items() ^ dict(db.execute(ask.removed)).items()} | set(new)
        self._counts |= {id_: db.execute(ask.count, (id_,)).fetchone() for id_ in changed}
        return changed


def _one(db: sqlite3.Connection, question: str) -> int:
    return db.execute(question).fetchone()[0] or 0


def _message(db: sqlite3.Connection, number: int) -> _Row | None:
    found: _Row | None = db.execute("SELECT session_id, timestamp FROM messages WHERE id = ?1", (number,)).fetchone()
    return found


def _in_pieces(db: sqlite3.Connection, question: str, numbers: Iterable[int]) -> Iterator[_Row]:
    left = list(numbers)
    while left:
        some, left = left[:_TOGETHER], left[_TOGETHER:]
        yield from db.execute(f"{question} ({', '.join('?' * len(some))})", some)


def _as_one_text(db: sqlite3.Connection, ask: Questions) -> bytes | None:
    try:
        text: bytes = db.execute(ask.text).fetchone()[0]
    except sqlite3.OperationalError:  # bytes where there should be text, or a library that knows no JSON
        return None
    return text


def _made(row: _Row, count: _Count) -> SessionFacts:
    born, id_, source, title, model, started_at, rewinds, archived = row
    started, (rows, active, newest, last, _) = _moment(started_at), count
    return SessionFacts(
        id=_text(id_) or "",
        source=_text(source),
        title=_text(title),
        model=_text(model),
        started_at=started,
        archived=bool(archived),
        last_active=started if newest is None else _moment(newest),
        rows=rows,
        active_rows=active,
        last_row=last,
        rewinds=rewinds if isinstance(rewinds, int) else 0,
        malformed=isinstance(started, str) + sum(isinstance(one, bytes) and not _is_text(one) for one in row[1:5]),
        born=born,
    )


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _moment(value: object) -> Moment:
    return float(value) if isinstance(value, int | float) else _text(value)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
