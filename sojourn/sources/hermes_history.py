"""A Hermes `state.db` as a `History`: read while Hermes runs, never written, nothing left behind."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SourceUnreadable, StoreCorrupt
from sojourn.core.text import opening_words
from sojourn.core.values import dataclass
from sojourn.ports.history import Moment, RawExchange, RawMessage, SessionFacts
from sojourn.sources.foreign import Damaged, ForeignDb, columns

_Answer = TypeVar("_Answer")

_STRUCTURED = b"\0json:"
_ENDS = ("MAX(id)", "COUNT(*)")


@dataclass(frozen=True, slots=True)
class _Queries:
    """The questions, in the words of this database's version: old ones lack some columns."""

    sessions: str
    counts: str  # per session: rows, live rows, newest time, last row, removed rows
    count_one: str
    removed: str  # per session: removed rows, found by index; empty where that would mean reading everything
    messages: str
    exchanges: str
    preview: str


class HermesHistory:
    """The sessions of one Hermes home. `home` is the folder or its `state.db`, which may be a symlink."""

    def __init__(self, home: Path) -> None:
        self.path = home if home.name == "state.db" else home / "state.db"
        self._file = ForeignDb(self.path)  # as bytes: that is what is searched, and invalid UTF-8 must not end a scan
        self._fresh()

    def _fresh(self) -> None:
        self._queries: _Queries | None = None
        self._counts, self._facts, self._opened = _Counts(), _Facts(), 0
        self._of: tuple[int, ...] | None = None  # the file that was counted

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_file": self._file}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fresh()

    def mark(self) -> Hashable | None:
        def ask(db: sqlite3.Connection, _: _Queries) -> Hashable:
            return self._file.opened, self._file.seen, db.execute("PRAGMA data_version").fetchone()[0]

        return self._asked(ask)

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:  # whoever reads it will say why
            return 0

    def sessions(self) -> list[SessionFacts]:
        return self._asked(self._listed)

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            yield session, self._asked(partial(_rows, session))

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            yield session, self._asked(partial(_exchanged, session))

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return self._asked(lambda db, queries: _previews(db, queries, sessions))

    def close(self) -> None:
        self._file.close()

    def _listed(self, db: sqlite3.Connection, queries: _Queries) -> list[SessionFacts]:
        db.execute("BEGIN")  # all of it as of one moment
        try:
            return self._facts.of_all(db, queries, self._counts.of_all(db, queries))
        finally:
            db.execute("COMMIT")

    def _asked(self, ask: Callable[[sqlite3.Connection, _Queries], _Answer]) -> _Answer:
        """Asks in the words of the file that is there now."""

        def in_its_words(db: sqlite3.Connection) -> _Answer:
            if self._queries is None or self._opened != self._file.opened:
                self._queries, self._opened = _queries(db), self._file.opened
                if self._of is None or self._of != self._file.identity:
                    self._of, self._counts, self._facts = self._file.identity, _Counts(), _Facts()
            return ask(db, self._queries)

        try:
            return self._file.asked(in_its_words)
        except Damaged as error:
            raise StoreCorrupt(str(error), hint="Hermes repairs it when it opens it.") from error


def _rows(session: str, db: sqlite3.Connection, queries: _Queries) -> list[RawMessage]:
    rows = db.execute(queries.messages, (session,)).fetchall()
    return [_odd(row) if row[3] or (row[2] and not row[2][0]) else row for row in rows]


def _exchanged(session: str, db: sqlite3.Connection, queries: _Queries) -> list[RawExchange]:
    rows = db.execute(queries.exchanges, (session,)).fetchall()
    return [(*_odd(row[:6]), *row[6:]) if row[3] or (row[2] and not row[2][0]) else row for row in rows]


def _queries(db: sqlite3.Connection) -> _Queries:
    session_has, message_has = columns(db, "sessions"), columns(db, "messages")
    if not session_has or not message_has:
        raise SourceUnreadable("This database has no sessions and messages.", hint="Is it a Hermes state.db?")
    wanted = ("source", "title", "model", "started_at", "rewind_count")
    facts = ", ".join(name if name in session_has else "NULL" for name in wanted)
    archived = "archived IS NOT 0" if "archived" in session_has else "0"  # nobody repairs an unknown one
    can_remove = "active" in message_has
    live = " AND ifnull(active, 1) = 1" if can_remove else ""
    dead = "SUM(active IS NOT NULL AND active <> 1)" if can_remove else "0"
    numbers = f"COUNT(*), COUNT(*) - {dead}, MAX(timestamp), MAX(id), {'SUM(active = 0)' if can_remove else '0'}"
    removed = "SELECT id, (SELECT COUNT(*) FROM messages WHERE session_id = s.id AND active = 0) FROM sessions s"
    is_odd = "typeof(content) NOT IN ('text', 'null')"
    ties = ", ".join(one if one in message_has else "NULL" for one in ("tool_call_id", "effect_disposition"))
    return _Queries(
        sessions=f"SELECT id, {facts}, {archived} FROM sessions ORDER BY started_at DESC, rowid",
        counts=f"SELECT session_id, {numbers} FROM messages GROUP BY 1",
        count_one=f"SELECT {numbers} FROM messages WHERE session_id = ?1",
        removed=removed if can_remove and _is_by_index(db, removed) else "",
        # Asking for the ids first spares the database sorting the contents.
        messages=f"""SELECT id, role, content, {is_odd}, tool_calls, tool_name
            FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ?1{live}) ORDER BY id""",
        exchanges=f"""SELECT id, role, CASE role WHEN 'assistant' THEN NULL ELSE content END,
            CASE role WHEN 'assistant' THEN 0 ELSE {is_odd} END, tool_calls, tool_name, {ties}, NULL
            FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ?1{live})
            AND (tool_calls IS NOT NULL OR role IN ('user', 'tool')) ORDER BY id""",
        preview="""SELECT substr(CAST(content AS BLOB), 1, 300) FROM messages
            WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1""",
    )


def _is_by_index(db: sqlite3.Connection, query: str) -> bool:
    return any(b"session_id=? AND active=?" in row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))


_Count = tuple[int, int, float | None, int, int | None]
_NO_ROWS: _Count = (0, 0, None, 0, 0)


class _Counts:
    """How many rows each session has. Counted once; after that only where rows came or were removed."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Count] | None = None
        self._last, self._total = 0, 0

    def of_all(self, db: sqlite3.Connection, ask: _Queries) -> dict[bytes, _Count]:
        last, total = (row[0] or 0 for row in (db.execute(f"SELECT {one} FROM messages").fetchone() for one in _ENDS))
        known = self._known
        changed = None if known is None or not ask.removed else self._changed(db, ask, known, last, total)
        if known is None or changed is None:
            known = {row[0]: row[1:] for row in db.execute(ask.counts)}
        else:
            known = known | {one: db.execute(ask.count_one, (_text(one),)).fetchone() for one in changed}
        self._known, self._last, self._total = known, last, total
        return known

    def _changed(
        self, db: sqlite3.Connection, ask: _Queries, known: dict[bytes, _Count], last: int, total: int
    ) -> set[bytes] | None:
        """The sessions to count again; None when rows are gone and everything has to be counted again."""
        new = [row[0] for row in db.execute("SELECT session_id FROM messages WHERE id > ?1", (self._last,))]
        if total != self._total + len(new) or last < self._last:
            return None
        moved = {id_ for id_, removed in db.execute(ask.removed) if removed != (known[id_][4] if id_ in known else 0)}
        return moved | set(new)


class _Facts:
    """The sessions as they were listed. One that still looks the same is the same object, so nobody compares twice."""

    def __init__(self) -> None:
        self._rows: list[tuple[Any, ...]] = []
        self._counts: dict[bytes, _Count] = {}
        self._facts: dict[bytes, SessionFacts] = {}

    def of_all(self, db: sqlite3.Connection, ask: _Queries, counts: dict[bytes, _Count]) -> list[SessionFacts]:
        rows = [row for row in db.execute(ask.sessions) if isinstance(row[0], bytes) and row[0]]
        changed = {one for one, _ in counts.items() ^ self._counts.items()}
        if rows != self._rows:  # whole lists are compared in a moment, and mostly they are equal
            before = {row[0]: row for row in self._rows}
            changed |= {row[0] for row in rows if row != before.get(row[0])}
        facts = self._facts | {row[0]: _made(row, counts.get(row[0], _NO_ROWS)) for row in rows if row[0] in changed}
        self._rows, self._counts, self._facts = rows, counts, {row[0]: facts[row[0]] for row in rows}
        return list(self._facts.values())


def _made(row: tuple[Any, ...], count: _Count) -> SessionFacts:
    id_, source, title, model, started_at, rewinds, archived = row
    started, (rows, active, newest, last, _) = _moment(started_at), count
    return SessionFacts(
        id=_text(id_) or "", source=_text(source), title=_text(title), model=_text(model),
        started_at=started, archived=bool(archived), last_active=started if newest is None else _moment(newest),
        rows=rows, active_rows=active, last_row=last, rewinds=rewinds if isinstance(rewinds, int) else 0,
        malformed=isinstance(started, str) + sum(isinstance(one, bytes) and not _is_text(one) for one in row[:4]),
    )  # fmt: skip


def _previews(db: sqlite3.Connection, ask: _Queries, sessions: Sequence[str]) -> dict[str, str]:
    found = {}
    for session in sessions:
        row = db.execute(ask.preview, (session,)).fetchone()
        if row is not None:
            found[session] = opening_words(row[0] or b"")  # of an empty content SQLite makes nothing
    return found


# -- decoding ----------------------------------------------------------------


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _moment(value: object) -> Moment:
    return float(value) if isinstance(value, int | float) else _text(value)


def _odd(row: tuple[Any, ...]) -> RawMessage:
    """A row whose content is not plain text: marked JSON, a number, or bytes (which Hermes shows as Python does)."""
    number, role, content, is_no_text, tool_calls, tool_name = row
    if is_no_text:
        shown = str(content) if isinstance(content, bytes) else json.dumps(content)
        return number, role, shown.encode(), False, tool_calls, tool_name
    if content.startswith(_STRUCTURED):
        try:
            json.loads(content[len(_STRUCTURED) :].decode())
        except ValueError:
            return number, role, content, False, tool_calls, tool_name
        except RecursionError:  # nested too deep for us: JSON all the same, and its reader says so
            pass
        return number, role, content[len(_STRUCTURED) :], True, tool_calls, tool_name
    return number, role, content, False, tool_calls, tool_name
