"""Looking for copies beside a store that is being written takes nobody's lock away."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

from sojourn.stores.erase import find_backups

TRY = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    db.execute("BEGIN IMMEDIATE")
    print("got it")
except sqlite3.OperationalError as error:
    print(error)
"""


def another_process_tries(path):
    return subprocess.run([sys.executable, "-c", TRY, path], capture_output=True, text=True, check=True).stdout.strip()


def test_a_writer_keeps_its_lock_while_copies_are_looked_for(tmp_path):
    db = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (n)")
    (tmp_path / "notes.txt").write_text("no copy")
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO t VALUES (1)")
    assert another_process_tries(tmp_path / "state.db") == "database is locked"
    assert find_backups(tmp_path) == []
    assert another_process_tries(tmp_path / "state.db") == "database is locked"
    db.execute("COMMIT")
    assert another_process_tries(tmp_path / "state.db") == "got it"
    db.close()
