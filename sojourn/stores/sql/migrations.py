"""Numbered schema migrations: SQL files of a database, and the checks before and after them."""

from __future__ import annotations

import re
from pathlib import Path

from sojourn.core.errors import StoreCorrupt, StoreNewer

Migration = tuple[int, str, str]  # number, name, SQL
COUNT_ROWS = (
    "SELECT (SELECT count(*) FROM sessions) AS s, (SELECT count(*) FROM messages) AS m, "
    "(SELECT count(*) FROM events) AS e"
)


def read_migrations(folder: Path) -> list[Migration]:
    """Reads the SQL files of a folder, in order of their numbers."""
    migrations: list[Migration] = []
    for file in folder.iterdir():
        if hit := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            migrations.append((int(hit[1]), hit[2], file.read_text("utf-8")))
    return sorted(migrations)


def check_not_newer(place: str, schema: int, newest: int) -> None:
    """Raises if a newer version of Sojourn has written the store."""
    if schema > newest:
        raise StoreNewer(
            f"{place} was written by a newer Sojourn (schema {schema}, this one knows {newest}).",
            hint="Update Sojourn. Nothing was changed.",
        )


def check_row_counts(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Raises if a migration has changed the number of rows; the caller rolls it back."""
    if before != after:
        raise StoreCorrupt(
            f"The update would have changed the number of rows from {before} to {after}; it was undone.",
            hint="Please report this. The store is unchanged.",
        )
