"""Maintenance of the SQLite file: statistics, verification, backup, restore, and scrubbing of deleted data."""

from __future__ import annotations

import errno
import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, StoreLocked
from sojourn.ports.store_admin import Progress, StoreStats, VerifyReport
from sojourn.stores.sql import admin, kept_secrets
from sojourn.stores.sql.db import Db, fetch_number
from sojourn.stores.sql.migrations import Migration
from sojourn.stores.sqlite import index
from sojourn.stores.sqlite.connect import check_ours, connect, disk_full, translate_errors
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.migrate import copy_database, ensure_schema
from sojourn.text.redaction import redact

logger = logging.getLogger(__name__)

_INDEX_TABLE = "search_index"
_CHECKPOINT_TRIES = 50
_CHECKPOINT_PAUSE_SECONDS = 0.1


def collect_stats(db: Db, path: Path, *, by_part: bool) -> StoreStats:
    """The counters that the database keeps; `by_part` reads every page of the file."""
    wal = path.with_name(path.name + "-wal")
    wal_bytes = wal.stat().st_size if wal.exists() else 0
    counts: dict[str, dict[str, int]] = {name: {} for name in ("sessions", "messages", "events", "records")}
    for row in db.fetch_all("SELECT name, part, n FROM counts WHERE n > 0 ORDER BY n DESC, part"):
        counts[row["name"]][row["part"]] = row["n"]
    return StoreStats(
        kind="sqlite",
        place=str(path),
        schema=fetch_number(db, "SELECT user_version AS n FROM pragma_user_version"),
        **{name: sum(parts.values()) for name, parts in counts.items()},
        not_indexed=index.count_waiting(db),
        bytes=path.stat().st_size + wal_bytes,
        bytes_by={**_measure_parts(db), "write-ahead log": wal_bytes} if by_part else {},
        sessions_by_source=counts["sessions"],
        messages_by_role=counts["messages"],
        redacted=kept_secrets.count_found(db),
    )


def _measure_parts(db: Db) -> dict[str, int]:
    bytes_by: dict[str, int] = {"messages": 0, "search index": 0, "sessions": 0, "events": 0, "other": 0}
    for row in db.fetch_all("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name"):
        name = row["name"]
        kind = next(
            (k for k in ("messages", "sessions", "events") if name.startswith((k, f"sqlite_autoindex_{k}"))), "other"
        )
        bytes_by["search index" if name.startswith(_INDEX_TABLE) else kind] += row["bytes"]
    return bytes_by


def _find_wrong_counts(db: Db) -> list[str]:
    """Compares the counters that triggers keep with the rows."""
    columns = {"sessions": "source", "messages": "role", "events": "''", "records": "''"}
    rows = " UNION ALL ".join(
        f"SELECT '{name}' AS name, {part} AS part, count(*) AS n FROM {name} GROUP BY 2 HAVING count(*) > 0"
        for name, part in columns.items()
    )
    both = f"SELECT name, part, n FROM counts WHERE n <> 0 UNION ALL {rows}"
    wrong = fetch_number(
        db, f"SELECT count(*) AS n FROM (SELECT 1 FROM ({both}) GROUP BY name, part, n HAVING count(*) <> 2)"
    )
    return [f"{wrong} counters of rows are wrong"] if wrong else []


def verify(db: Db, progress: Progress | None) -> VerifyReport:
    """Runs SQLite's check of every page, then checks the rows, then the index."""
    report = progress or (lambda what, done, of: None)
    problems: list[str] = []
    report("pages", 0, 3)
    problems += [row[0] for row in db.fetch_all("PRAGMA integrity_check(20)") if row[0] != "ok"]  # type: ignore[index]
    report("rows", 1, 3)
    problems += admin.find_violations(db) + _find_wrong_counts(db)
    report("index", 2, 3)
    upto, last = index.read_state(db).indexed_to, fetch_number(db, "SELECT max(id) AS n FROM messages")
    if last and upto > fetch_number(db, "SELECT seq AS n FROM sqlite_sequence WHERE name = 'messages'"):
        problems.append(f"the index claims to cover row {upto}, but there is none")
    report("done", 3, 3)
    return VerifyReport(checked=admin.count_checked_rows(db), problems=tuple(problems))


def backup(path: Path, target: Path, progress: Progress | None) -> Path:
    """Makes a consistent copy while other processes write. The target appears whole or not at all."""
    target = admin.choose_backup_file(target)
    part = target.with_name(f".{target.name}.part")
    with _removed_on_exit(part):
        copy_database(path, part, progress)
        part.replace(target)
    return target


@contextmanager
def _removed_on_exit(part: Path) -> Iterator[None]:
    """Removes an unfinished copy, and translates errors of the disk."""
    try:
        part.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(part) from error
        raise admin.unwritable(part.parent, error) from error
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                part.with_name(part.name + ending).unlink(missing_ok=True)


def restore(path: Path, source: Path, migrations: list[Migration], progress: Progress | None) -> None:
    """Replaces the store by a copy. The old file is renamed, never deleted."""
    if not source.is_file():
        raise BadInput(f"There is no backup at {source}.", hint="`sojourn store backup` makes one.")
    opened = connect(source, read_only=True)
    try:
        check_ours(opened, source, migrations[-1][0])
        with translate_errors(source):
            broken = [row[0] for row in opened.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
    finally:
        opened.close()
    if broken:
        raise BadInput(f"The copy {source} is damaged: {broken[0]}.", hint="Choose another copy.")
    _check_unused(path)
    fresh = path.with_name(f".{path.name}.restored")
    with _removed_on_exit(fresh):
        copy_database(source, fresh, progress)
        with translate_errors(fresh):
            made = sqlite3.connect(fresh)
            made.execute("PRAGMA journal_mode = WAL")
            made.close()
        _swap_files(fresh, path)
    ensure_schema(path, migrations, read_only=False)


def _swap_files(fresh: Path, path: Path) -> None:
    _check_unused(path)  # again: another process may have opened it while it was copied
    if path.exists():
        aside = path.with_name(f"{path.name}.before-restore-{admin.timestamp()}")
        for ending in ("-wal", "-shm", ""):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.replace(aside.with_name(aside.name + ending))
    fresh.replace(path)


def _check_unused(path: Path) -> None:
    """Raises if another process has the store open: it would go on writing to the old file."""
    if not path.exists():
        return
    try:
        opened = sqlite3.connect(path, timeout=2.0, isolation_level=None)
        try:
            opened.execute("PRAGMA locking_mode = EXCLUSIVE")
            opened.execute("BEGIN EXCLUSIVE")
            opened.execute("ROLLBACK")
        finally:
            opened.close()
    except sqlite3.OperationalError as error:
        if "lock" in str(error):
            raise StoreLocked(
                f"{path} is in use by another process.",
                hint="`sojourn server stop` ends the server, once its turns are over.",
            ) from error
    except sqlite3.DatabaseError:
        pass  # damaged, so no process can use it; it is kept beside the restored one


def scrub(path: Path, connections: list[sqlite3.Connection]) -> tuple[str, ...]:
    """Rewrites the file and its write-ahead log without deleted data. Returns what could not be rewritten.

    Closes the idle `connections`, because their snapshots would keep the log from being truncated.
    """
    while connections:
        connections.pop().close()
    with translate_errors(path):
        opened = connect(path, read_only=False)
        try:
            opened.execute(f"INSERT INTO {_INDEX_TABLE}({_INDEX_TABLE}) VALUES ('optimize')")
            opened.execute("VACUUM")
            for _ in range(_CHECKPOINT_TRIES):
                busy = opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if not busy:
                    return ()
                time.sleep(_CHECKPOINT_PAUSE_SECONDS)
        finally:
            opened.close()
    return (f"{path.name}-wal is in use by another process; it is emptied when that one closes",)


def redact_kept(path: Path, connection: sqlite3.Connection) -> None:
    """Redacts what was stored before; deleted text is overwritten (`secure_delete`), and the file rewritten."""
    db = SqliteDb(connection, redact)
    with translate_errors(path):
        if not kept_secrets.has_kept_secrets(db):
            return

        def run(work: Callable[[Db], Any]) -> Any:
            connection.execute("BEGIN IMMEDIATE")
            try:
                result = work(db)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

        found = kept_secrets.redact_store(run)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        run(kept_secrets.finish)
    if found:
        logger.warning(
            "%s secrets in older text were redacted. Backups from before still hold them: %s",
            f"{found:,}",
            ", ".join(find_backups(path)) or "none",
        )


def find_backups(path: Path) -> tuple[str, ...]:
    """Lists copies beside the store, which may still contain forgotten sessions."""
    files = [*path.parent.glob(f"{path.name}.before-restore-*"), *(path.parent / "backups").glob("*.db")]
    return tuple(sorted(str(one) for one in files))
