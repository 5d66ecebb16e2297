"""Keys of our device in a file of the home: those of the SDK, the indexes of read messages, and people's identities.

One process at a time opens it; only its owner can read it.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from nio.store import SqliteStore
from peewee import OperationalError, SqliteDatabase

from sojourn.core.errors import PlatformDown

IndexKey = tuple[str, str, int]  # sender key, session id, index
_TABLES = (
    "CREATE TABLE IF NOT EXISTS sojourn_indexes (session TEXT, number INTEGER, event TEXT, at INTEGER,"
    " PRIMARY KEY (session, number)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS sojourn_identities (user TEXT PRIMARY KEY, master TEXT)",
    "CREATE TABLE IF NOT EXISTS sojourn_seeds (name TEXT PRIMARY KEY, seed BLOB)",
)


class KeyStore(SqliteStore):  # type: ignore[misc]  # the SDK has no types
    """The keys of one device of one account."""

    def _create_database(self) -> SqliteDatabase:
        pragmas = {"foreign_keys": 1, "secure_delete": 1, "locking_mode": "exclusive"}
        return SqliteDatabase(self.database_path, pragmas=pragmas, timeout=1)

    def __post_init__(self) -> None:
        try:
            super().__post_init__()
            for statement in ("BEGIN EXCLUSIVE", *_TABLES, "COMMIT"):  # the connection keeps the lock
                self.database.execute_sql(statement)
        except OperationalError as error:
            self.database.close()
            hint = "Is another gateway of this home running?"
            raise PlatformDown(f"The keys in {self.database_path} cannot be used: {error}.", hint=hint) from error

    def find_master_key(self, user: str) -> str:
        """The identity that a user had when we first saw them; "" for one without."""
        row = self.database.execute_sql("SELECT master FROM sojourn_identities WHERE user = ?", (user,)).fetchone()
        return str(row[0]) if row else ""

    def save_master_key(self, user: str, master: str) -> None:
        self.database.execute_sql("INSERT OR REPLACE INTO sojourn_identities VALUES (?, ?)", (user, master))

    def list_seeds(self) -> dict[str, bytes]:
        """The secret keys of our own identity, by their use."""
        return dict(self.database.execute_sql("SELECT name, seed FROM sojourn_seeds").fetchall())

    def save_seeds(self, seeds: dict[str, bytes]) -> None:
        for one in seeds.items():
            self.database.execute_sql("INSERT OR REPLACE INTO sojourn_seeds VALUES (?, ?)", one)

    def close(self) -> None:
        self.database.close()


class MessageIndexes:
    """Which event each message of a session was read from, so that a replayed one is noticed, after a restart as well.

    Stands in for the SDK's cache, which is empty after a restart."""

    def __init__(self, store: KeyStore) -> None:
        self._database = store.database

    def __getitem__(self, key: IndexKey) -> tuple[str, int]:
        sql = "SELECT event, at FROM sojourn_indexes WHERE session = ? AND number = ?"
        row = self._database.execute_sql(sql, key[1:]).fetchone()
        if row is None:
            raise KeyError(key)
        return str(row[0]), int(row[1])

    def __setitem__(self, key: IndexKey, read: tuple[str, int]) -> None:
        self._database.execute_sql("INSERT INTO sojourn_indexes VALUES (?, ?, ?, ?)", (*key[1:], *read))


def open_key_store(folder: Path, user: str, device: str) -> KeyStore:
    """Opens, or creates, the keys of a device. PlatformDown if another process has them."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = quote(f"{user}_{device}", safe="@:") + ".db"
    os.close(os.open(folder / name, os.O_CREAT | os.O_RDWR, 0o600))
    return KeyStore(user, device, str(folder), database_name=name)
