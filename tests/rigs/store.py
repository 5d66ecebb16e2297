"""A SQLite store in a temporary folder: the store of every test that asks for no particular one."""

import os
import tempfile
from pathlib import Path

from sojourn.core.redact import Redactor, redact
from sojourn.stores.sqlite.store import SqliteStore


def temporary_store(redactor: Redactor = redact) -> SqliteStore:
    """Returns a new, empty store in the user's home of the running test, which is removed after the test."""
    return SqliteStore(Path(tempfile.mkdtemp(prefix="store-", dir=os.environ["HOME"])) / "state.db", redactor=redactor)
