"""Schema migrations of the SQLite store: numbered, in one transaction, after a backup, with rows counted."""

from __future__ import annotations

import os
import sqlite3
import time
from functools import partial
from pathlib import Path

from sojourn.core.errors import StoreCorrupt, StoreReadOnly
from sojourn.ports.store_admin import SQLITE_APPLICATION_ID, Progress
from sojourn.stores.sql.migrations import COUNT_ROWS, Migration, check_row_counts, read_migrations
from sojourn.stores.sqlite.connect import check_ours, connect, translate_errors

_CREATE_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS schema_migrations(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at REAL NOT NULL)"
)
load_migrations = partial(read_migrations, Path(__file__).with_name("migrations"))


def ensure_schema(path: Path, migrations: list[Migration], *, read_only: bool) -> None:
    """Creates a missing store, upgrades an old one, and raises for a file that is not a Sojourn store."""
    newest = migrations[-1][0]
    if not path.exists():
        if read_only:
            raise StoreCorrupt(f"There is no store at {path}.", hint="Start Sojourn once where it may write.")
        _create(path, migrations)
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
    finally:
        opened.close()


def _create(path: Path, migrations: list[Migration]) -> None:
    """Builds a new store under a temporary name and links it to its path, so it appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}")
    with translate_errors(path):
        descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        os.close(descriptor)
        opened = sqlite3.connect(fresh, isolation_level=None)
        try:
            opened.execute("PRAGMA auto_vacuum = INCREMENTAL")
            opened.execute("PRAGMA journal_mode = WAL")
            opened.execute("BEGIN IMMEDIATE")
            opened.execute(f"PRAGMA application_id = {SQLITE_APPLICATION_ID}")
            opened.execute(_CREATE_MIGRATIONS)
            for number, name, sql in migrations:
                _apply(opened, number, name, sql)
            opened.execute("COMMIT")
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            opened.close()
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process has created it first
        finally:
            fresh.unlink(missing_ok=True)


def _apply(opened: sqlite3.Connection, number: int, name: str, sql: str) -> None:
    for statement in _statements(sql):
        opened.execute(statement)
    opened.execute("INSERT INTO schema_migrations(number, name, at) VALUES (?, ?, ?)", (number, name, time.time()))
    opened.execute(f"PRAGMA user_version = {number}")


def _statements(sql: str) -> list[str]:
    """Splits a script into statements, because `executescript` would commit the transaction."""
    statements, text = [], ""
    for line in sql.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            statements.append(text)
            text = ""
    return statements


def _upgrade(opened: sqlite3.Connection, path: Path, migrations: list[Migration]) -> None:
    """Applies the missing migrations in one transaction, and counts rows before and after."""
    with translate_errors(path):
        _back_up(opened, path)
        opened.execute("BEGIN IMMEDIATE")
        try:
            schema = int(opened.execute("PRAGMA user_version").fetchone()[0])  # another process may have upgraded it
            before = _count_rows(opened)
            for number, name, sql in migrations:
                if number > schema:
                    _apply(opened, number, name, sql)
            check_row_counts(before, _count_rows(opened))
            opened.execute("COMMIT")
        except BaseException:
            if opened.in_transaction:
                opened.execute("ROLLBACK")
            raise


def _count_rows(opened: sqlite3.Connection) -> tuple[int, ...]:
    return tuple(opened.execute(COUNT_ROWS).fetchone())


def _back_up(opened: sqlite3.Connection, path: Path) -> None:
    """Copies the store into the `backups` folder beside it."""
    schema = opened.execute("PRAGMA user_version").fetchone()[0]
    folder = path.parent / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    copy_database(path, folder / f"{path.stem}-schema{schema}-{time.strftime('%Y%m%d-%H%M%S')}.db")


def copy_database(source: Path, target: Path, progress: Progress | None = None) -> None:
    """Copies a database while other processes write: all pages come from one snapshot."""
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_RDWR, 0o600))
    report = (lambda status, left, total: progress("pages", total - left, total)) if progress else None
    with translate_errors(source):
        opened, copy = connect(source, read_only=True), sqlite3.connect(target)
        try:
            opened.execute("BEGIN")
            opened.execute("SELECT 1 FROM sqlite_master").fetchone()  # starts the snapshot that all pages come from
            opened.backup(copy, pages=4096, progress=report)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
            opened.close()
