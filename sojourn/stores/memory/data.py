"""The dictionaries themselves. A row is never altered: it is replaced, so an old copy stays true."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.errors import NotFound
from sojourn.core.sessions import Change, Control, SessionId
from sojourn.core.tables import TABLES
from sojourn.ports.gateway_store import CredentialLease, Heartbeat
from sojourn.text.redaction import Redactor

Row = Mapping[str, Any]
Key = tuple[Any, ...]
OUR_KEYS = {"messages": ("session_id", "seq")}  # rows are found by these; elsewhere by the table's own key


@dataclass(slots=True)
class Data:
    """Everything a store holds. Plain values only, so it can be copied and sent to another process."""

    redact: Redactor
    clock: Callable[[], float] = time.time
    tables: dict[str, dict[Key, Row]] = field(default_factory=lambda: {table.name: {} for table in TABLES})
    log: dict[str, list[int]] = field(default_factory=dict)  # the numbers of each session's items, in order
    changes: dict[tuple[str, str], Change] = field(default_factory=dict)
    controls: list[Control] = field(default_factory=list)  # said and not yet heard
    rows: int = 0  # the last number given to a message, a change, a control
    feed: int = 0
    words: int = 0
    boxed: dict[str, int] = field(default_factory=lambda: {"inbox": 0, "outbox": 0})  # … to a row of the journal
    gateways: dict[str, Heartbeat] = field(default_factory=dict)
    holds: dict[str, CredentialLease] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def session(self, session: str) -> Row:
        row = self.tables["sessions"].get((session,))
        if row is None:
            raise NotFound(f'There is no session "{session}".', hint="`sojourn sessions list` shows what there is.")
        return row

    def sessions(self) -> Iterator[Row]:
        yield from self.tables["sessions"].values()

    def update(self, session: str, **values: Any) -> Row:
        row = {**self.session(session), **values}
        self.tables["sessions"][(session,)] = row
        return row

    def add(self, table: str, key: Key, row: Row) -> None:
        """Keeps a row; one that belongs to a session's log is numbered there."""
        self.tables[table][key] = row
        if table in ("messages", "events"):
            insort(self.log.setdefault(row["session_id"], []), row["seq"])
        if table in self.boxed:
            self.boxed[table] = max(self.boxed[table], row["id"])
        if table == "messages":
            self.rows = max(self.rows, row["id"])

    def of(self, table: str, session: str) -> list[Row]:
        """The rows of a session in a table."""
        if table not in ("messages", "events"):
            return [row for row in self.tables[table].values() if row["session_id"] == session]
        found = self.tables[table]
        return [found[session, seq] for seq in self.log.get(session, ()) if (session, seq) in found]

    def drop_files(self, messages: Container[int]) -> None:
        """Removes what came along with these messages of the inbox."""
        left = {key: row for key, row in self.tables["inbox_files"].items() if key[0] not in messages}
        self.tables["inbox_files"] = left

    def changed(self, session: str, kind: Any) -> None:
        """Puts a session at the end of the feed; one entry for each kind of change."""
        self.feed += 1
        self.touched.add(session)
        self.changes.pop((session, kind), None)
        self.changes[session, kind] = Change(self.feed, SessionId(session), kind, self.clock())

    @contextmanager
    def whole(self) -> Iterator[None]:
        """All of what is done inside, or nothing of it."""
        before = (
            {name: dict(rows) for name, rows in self.tables.items()},
            {session: list(numbers) for session, numbers in self.log.items()},
            dict(self.changes),
            list(self.controls),
            set(self.touched),
        )
        try:
            yield
        except BaseException:
            self.tables, self.log, self.changes, self.controls, self.touched = before
            raise
