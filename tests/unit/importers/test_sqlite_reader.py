"""A foreign database is read beside the program that owns it: SQLite's locks hold, and nothing is left behind."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sojourn.importers.sqlite_reader import ForeignDb

CHECKPOINT = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1], timeout=0).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
"""


@contextmanager
def wal_database(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY)")
        yield db


def count(db: sqlite3.Connection) -> int:
    found: int = db.execute("SELECT COUNT(*) FROM t").fetchone()[0]
    return found


def test_opening_a_database_keeps_the_locks_of_an_open_snapshot(tmp_path: Path) -> None:
    """A process gives up its POSIX locks on a file when it closes any descriptor of that file."""
    path = tmp_path / "state.db"
    with wal_database(path):
        pass  # closed: without a log beside it, the file's header is read to see which kind it is
    quiet = ForeignDb(path)
    assert quiet.query(count) == 0
    with wal_database(path) as writer, closing(sqlite3.connect(path, isolation_level=None)) as reader:
        writer.execute("INSERT INTO t DEFAULT VALUES")
        reader.execute("BEGIN")
        assert count(reader) == 1
        for _ in range(3):
            with closing(ForeignDb(path)) as another:
                assert another.query(count) == 1
        quiet.close()
        writer.execute("INSERT INTO t DEFAULT VALUES")
        command = [sys.executable, "-ISc", CHECKPOINT, str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert said.strip() == "1"  # busy: the reader's lock holds
        assert count(reader) == 1


def test_descriptors_of_deleted_files_are_closed(tmp_path: Path) -> None:
    def read_and_delete() -> None:
        folder = tmp_path / "home"
        folder.mkdir()
        with wal_database(folder / "state.db"):
            pass
        with closing(ForeignDb(folder / "state.db")) as quiet:
            assert quiet.query(count) == 0
        shutil.rmtree(folder)

    read_and_delete()
    open_before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        read_and_delete()
    assert len(list(Path("/dev/fd").iterdir())) <= open_before


def test_reading_a_closed_database_leaves_no_file_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    with wal_database(path) as db:
        db.execute("INSERT INTO t DEFAULT VALUES")
    before = path.read_bytes()
    with closing(ForeignDb(path)) as quiet:
        assert quiet.query(count) == 1
        assert [one.name for one in tmp_path.iterdir()] == ["state.db"]
    assert path.read_bytes() == before
