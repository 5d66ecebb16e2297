"""Numbered migrations: idempotent, counted, with a copy put aside first."""

from __future__ import annotations

import os
import re
import sqlite3
import time
from pathlib import Path

from sojourn.core.errors import StoreCorrupt, StoreReadOnly
from sojourn.ports.admin import SQLITE_APPLICATION_ID
from sojourn.stores.sqlite.connect import check_ours, connect, translated

Migration = tuple[int, str, str]  # number, name, SQL


def known_migrations() -> list[Migration]:
    """The SQL files beside this one, in order."""
    found: list[Migration] = []
    for file in Path(__file__).with_name("migrations").iterdir():
        if hit := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append((int(hit[1]), hit[2], file.read_text("utf-8")))
    return sorted(found)


def ensure(path: Path, migrations: list[Migration], *, read_only: bool) -> int:
    """Makes the store if there is none, brings an old one up to date, refuses what is not ours."""
    newest = migrations[-1][0]
    if not path.exists():
        if read_only:
            raise StoreCorrupt(f"There is no store at {path}.", hint="Start Sojourn once where it may write.")
        _make(path, migrations)
    if path.stat().st_size == 0:
        raise StoreCorrupt(
            f"{path} is an empty file, not a store.",
            hint="Restore a copy, or remove the file if nothing was ever in it.",
        )
    opened = connect(path, read_only=read_only)
    try:
        schema = check_ours(opened, path, newest)
        if schema < newest:
            if read_only:
                raise StoreReadOnly(
                    f"{path} was written by an older Sojourn (schema {schema}, this one needs {newest}) "
                    "and can only be read, so it cannot be brought up to date.",
                    hint="Copy it to where you may write, and open it there.",
                )
            _upgrade(opened, path, migrations)
        return newest
    finally:
        opened.close()


def _make(path: Path, migrations: list[Migration]) -> None:
    """A new store appears whole or not at all: it is built beside its place and linked there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    with translated(path):
        descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.close(descriptor)
        opened = sqlite3.connect(fresh, isolation_level=None)
        try:
            opened.execute("PRAGMA journal_mode = WAL")
            opened.execute("BEGIN IMMEDIATE")
            _mark(opened)
            for number, name, sql in migrations:
                _apply(opened, number, name, sql)
            opened.execute("COMMIT")
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            opened.close()
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process was quicker; its store is as good as ours
        finally:
            fresh.unlink(missing_ok=True)


def _mark(opened: sqlite3.Connection) -> None:
    opened.execute(f"PRAGMA application_id = {SQLITE_APPLICATION_ID}")
    opened.execute(
        "CREATE TABLE IF NOT EXISTS schema_migrations(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL)"
    )


def _apply(opened: sqlite3.Connection, number: int, name: str, sql: str) -> None:
    for statement in _statements(sql):
        opened.execute(statement)
    opened.execute("INSERT INTO schema_migrations(number, name, at) VALUES (?, ?, ?)", (number, name, time.time()))
    opened.execute(f"PRAGMA user_version = {number}")


def _statements(sql: str) -> list[str]:
    """One script as single statements, so that all of them fit into one transaction."""
    found, text = [], ""
    for line in sql.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return found


def _upgrade(opened: sqlite3.Connection, path: Path, migrations: list[Migration]) -> None:
    """All missing migrations in one transaction; rows are counted before and after."""
    with translated(path):
        copy_aside(opened, path)
        opened.execute("BEGIN IMMEDIATE")
        try:
            schema = int(opened.execute("PRAGMA user_version").fetchone()[0])  # somebody may have been quicker
            before = _counts(opened)
            for number, name, sql in migrations:
                if number > schema:
                    _apply(opened, number, name, sql)
            if (after := _counts(opened)) != before:
                raise StoreCorrupt(
                    f"The update would have changed the number of rows from {before} to {after}; it was undone.",
                    hint="Please report this. The store is as it was.",
                )
            opened.execute("COMMIT")
        except BaseException:
            if opened.in_transaction:
                opened.execute("ROLLBACK")
            raise


def _counts(opened: sqlite3.Connection) -> tuple[int, ...]:
    return tuple(
        opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("sessions", "messages", "events")
    )


def copy_aside(opened: sqlite3.Connection, path: Path) -> Path:
    """A copy of the store as it is now, in the `backups` folder beside it."""
    schema = opened.execute("PRAGMA user_version").fetchone()[0]
    folder = path.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{path.stem}-schema{schema}-{time.strftime('%Y%m%d-%H%M%S')}.db"
    os.close(os.open(target, os.O_CREAT | os.O_RDWR, 0o600))
    copy = sqlite3.connect(target)
    try:
        opened.backup(copy)
    finally:
        copy.close()
    return target
