"""A SQLite store in a temporary folder, for tests that need any store."""

import os
import tempfile
from pathlib import Path

from sojourn.stores.sqlite.store import SqliteStore
from sojourn.text.redaction import Redactor, redact


def temporary_store(redactor: Redactor = redact) -> SqliteStore:
    """Returns a new, empty store in the user's home of the running test, which is removed after the test."""
    return SqliteStore(Path(tempfile.mkdtemp(prefix="store-", dir=os.environ["HOME"])) / "state.db", redactor=redactor)
