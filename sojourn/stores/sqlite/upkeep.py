"""Looking after the file: figures, proofs, copies, and wiping what was forgotten."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from sojourn.core.errors import BadInput, StoreLocked
from sojourn.ports.admin import Progress, StoreStats, VerifyReport
from sojourn.stores.sql import admin
from sojourn.stores.sql.db import Db
from sojourn.stores.sqlite import index
from sojourn.stores.sqlite.connect import check_ours, connect, full, translated
from sojourn.stores.sqlite.migrate import Migration, ensure

_INDEX = "search_index"


def stats(db: Db, path: Path) -> StoreStats:
    sizes = db.all("SELECT name, sum(pgsize) AS bytes FROM dbstat GROUP BY name")
    by: dict[str, int] = {"messages": 0, "search index": 0, "sessions": 0, "events": 0, "other": 0}
    for row in sizes:
        name = row["name"]
        kind = next(
            (k for k in ("messages", "sessions", "events") if name.startswith((k, f"sqlite_autoindex_{k}"))), "other"
        )
        by["search index" if name.startswith(_INDEX) else kind] += row["bytes"]
    wal = path.with_name(path.name + "-wal")
    by["write-ahead log"] = wal.stat().st_size if wal.exists() else 0
    schema = db.one("PRAGMA user_version")
    return StoreStats(
        kind="sqlite",
        place=str(path),
        schema=int(schema["user_version"]) if schema else 0,
        not_indexed=index.waiting(db),
        bytes=path.stat().st_size + by["write-ahead log"],
        bytes_by=by,
        **admin.figures(db),
    )


def verify(db: Db, progress: Progress | None) -> VerifyReport:
    """SQLite's own check of every page, then the laws the rows must obey, then the index."""
    say = progress or (lambda what, done, of: None)
    problems: list[str] = []
    say("pages", 0, 3)
    problems += [row[0] for row in db.all("PRAGMA integrity_check(20)") if row[0] != "ok"]  # type: ignore[index]
    say("rows", 1, 3)
    problems += admin.broken_laws(db)
    say("index", 2, 3)
    upto, last = index.indexed_to(db), db.one("SELECT max(id) AS n FROM messages")
    if upto > (last["n"] or 0 if last else 0) and (last and last["n"] is not None):
        top = db.one("SELECT seq FROM sqlite_sequence WHERE name = 'messages'")
        if top and upto > top["seq"]:
            problems.append(f"the index claims to cover row {upto}, but there is none")
    say("done", 3, 3)
    return VerifyReport(checked=admin.counted(db), problems=tuple(problems))


def _moment() -> str:
    """Now, for the name of a file: two copies in one second have two names."""
    return datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")[:-3]


def backup(path: Path, target: Path, progress: Progress | None) -> Path:
    """A consistent copy while others go on writing; it appears whole or not at all."""
    if target.is_dir():
        target = target / f"sojourn-{_moment()}.db"
    if target.exists():
        raise BadInput(f"{target} is already there.", hint="Name a file that does not exist, or a folder.")
    part = target.with_name(f".{target.name}.part")
    with _no_leftovers(part):
        _copy(path, part, progress)
        part.replace(target)
    return target


@contextmanager
def _no_leftovers(part: Path) -> Iterator[None]:
    """A copy that did not come about (a full disk, a store in use) is not left lying in the home."""
    try:
        part.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise full(part) from error
        raise BadInput(
            f"Nothing can be written to {part.parent}: {error.strerror}.", hint="Name a place you may write to."
        ) from error
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                part.with_name(part.name + ending).unlink(missing_ok=True)


def _copy(source: Path, target: Path, progress: Progress | None) -> None:
    target.unlink(missing_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_RDWR, 0o600))
    say = (lambda status, left, total: progress("pages", total - left, total)) if progress else None
    with translated(source):
        opened, copy = connect(source, read_only=True), sqlite3.connect(target)
        try:
            opened.execute("BEGIN")
            opened.execute(
                "SELECT 1 FROM sqlite_master"
            ).fetchone()  # one moment for all pages, whoever writes meanwhile
            opened.backup(copy, pages=4096, progress=say)
            copy.execute("PRAGMA journal_mode = DELETE")
        finally:
            copy.close()
            opened.close()


def restore(path: Path, source: Path, migrations: list[Migration], progress: Progress | None) -> None:
    """Puts a copy in the store's place; what was there is kept beside it, never thrown away."""
    if not source.is_file():
        raise BadInput(f"There is no copy at {source}.", hint="`sojourn store backup` makes one.")
    opened = connect(source, read_only=True)
    try:
        check_ours(opened, source, migrations[-1][0])
        with translated(source):
            broken = [row[0] for row in opened.execute("PRAGMA integrity_check(3)") if row[0] != "ok"]
    finally:
        opened.close()
    if broken:
        raise BadInput(f"The copy {source} is damaged: {broken[0]}.", hint="Choose another copy.")
    _nobody_uses(path)
    fresh = path.with_name(f".{path.name}.restored")
    with _no_leftovers(fresh):
        _copy(source, fresh, progress)
        with translated(fresh):
            made = sqlite3.connect(fresh)
            made.execute("PRAGMA journal_mode = WAL")
            made.close()
        _put_in_place(fresh, path)
    ensure(path, migrations, read_only=False)


def _put_in_place(fresh: Path, path: Path) -> None:
    _nobody_uses(path)  # copying took its time
    if path.exists():
        aside = path.with_name(f"{path.name}.before-restore-{_moment()}")
        for ending in ("-wal", "-shm", ""):
            part = path.with_name(path.name + ending)
            if part.exists():
                part.replace(aside.with_name(aside.name + ending))
    fresh.replace(path)


def _nobody_uses(path: Path) -> None:
    """Refuses while another process has the store open: it would go on writing into the old file."""
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
                f"{path} is in use by another process.", hint="Stop it first (`sojourn serve`, chats)."
            ) from error
    except sqlite3.DatabaseError:
        pass  # damaged: nobody can be using it, and it is kept beside the restored one


def scrub(path: Path, readers: list[sqlite3.Connection]) -> tuple[str, ...]:
    """Rewrites the file and its log so that nothing deleted is left in free pages. Returns what could not be done."""
    while readers:
        readers.pop().close()
    with translated(path):
        opened = connect(path, read_only=False)
        try:
            opened.execute(f"INSERT INTO {_INDEX}({_INDEX}) VALUES ('optimize')")
            opened.execute("VACUUM")
            for _ in range(50):
                busy = opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if not busy:
                    return ()
                time.sleep(0.1)
        finally:
            opened.close()
    return (f"{path.name}-wal is in use by another process; it is emptied when that one closes",)


def backups_of(path: Path) -> tuple[str, ...]:
    """Copies beside the store that may still hold what was forgotten."""
    found = [*path.parent.glob(f"{path.name}.before-restore-*"), *(path.parent / "backups").glob("*.db")]
    return tuple(sorted(str(one) for one in found))
