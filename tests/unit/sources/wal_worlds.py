"""A database whose log is looked at."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn.importers.wal import LogEnd, Written, end_of, written_since

SCHEMA = """
CREATE TABLE t (id INTEGER PRIMARY KEY, big TEXT, n INT);
CREATE INDEX by_n ON t (n);
CREATE TABLE other (id INTEGER PRIMARY KEY, big TEXT, n INT);
CREATE TABLE keyed (k INTEGER PRIMARY KEY, big TEXT, n INT) WITHOUT ROWID;
CREATE TABLE words (word TEXT);
CREATE INDEX by_word ON words (word);
CREATE VIRTUAL TABLE found USING fts5 (text);
"""
BIG = "x" * 30_000
IN_PLACE = "UPDATE {} SET n = 10 + (n + 1) % 90 WHERE {}"  # of the same size: SQLite overwrites only what differs


class World:
    """A database, somebody who writes, and we who look."""

    def __init__(self, folder: Path, page_size: int = 4096, **pragmas: object) -> None:
        self.path = folder.resolve() / "state.db"
        self.log, self.index = (self.path.with_name(self.path.name + ending) for ending in ("-wal", "-shm"))
        self.writer = self.connected()
        self.tell(f"PRAGMA page_size={page_size}", "PRAGMA synchronous=OFF", "PRAGMA wal_autocheckpoint=0")
        self.tell(*(f"PRAGMA {name}={value}" for name, value in pragmas.items()), "PRAGMA journal_mode=WAL")
        self.writer.executescript(SCHEMA)
        self.reader = self.connected()

    def connected(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, isolation_level=None)

    def tell(self, *statements: str) -> None:
        for statement in statements:
            self.writer.execute(statement)

    def insert(self, *ids: int, big: str = "little", table: str = "t") -> None:
        for id_ in ids:
            self.writer.execute(f"INSERT INTO {table} VALUES (?, ?, 10)", (id_, big))

    def end(self) -> LogEnd:
        end = end_of(self.path)
        assert end is not None
        return end

    @contextmanager
    def looking(self, last: LogEnd) -> Iterator[Written | None]:
        here = self.end()
        self.reader.execute("BEGIN")
        self.reader.execute("SELECT 1 FROM t").fetchone()
        assert end_of(self.path) == here
        try:
            yield written_since(self.path, last, here)
        finally:
            self.reader.execute("COMMIT")

    def rows_since(self, last: LogEnd) -> frozenset[int] | None:
        with self.looking(last) as written:
            return None if written is None else written.rows

    def is_all_in(self, last: LogEnd, *rows: int) -> bool:
        with self.looking(last) as written:
            assert written is not None
            return written.is_all_in(self.root(), rows)

    def root(self) -> int:
        (root,) = self.reader.execute("SELECT rootpage FROM sqlite_master WHERE name = 't'").fetchone()
        return int(root)

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


@contextmanager
def another(folder: Path, page_size: int = 4096, **pragmas: object) -> Iterator[World]:
    folder.mkdir(exist_ok=True)
    world = World(folder, page_size, **pragmas)
    try:
        yield world
    finally:
        world.close()
