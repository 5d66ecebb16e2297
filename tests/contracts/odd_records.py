"""Records with something in them replaced, as a disk error or an unknown version would."""

from __future__ import annotations

import json
import random
import sqlite3
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_ZSTD = b"\x28\xb5\x2f\xfd"
ODD: list[Any] = [
    None,
    True,
    -1,
    1e300,
    "",
    "x",
    [],
    [None],
    {},
    {"type": "text"},
    [{"type": "tool_use"}],
    "\ud800\x00",
]


def bent(value: Any, chance: random.Random) -> Any:
    """The same record with something in it replaced."""
    if chance.random() < 0.04:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: bent(inner, chance) for key, inner in value.items()}
    return [bent(inner, chance) for inner in value] if isinstance(value, list) else value


def bend_files(folder: Path, chance: random.Random) -> None:
    """Bends every JSON document and every JSON line below a folder."""
    for path in sorted(folder.rglob("*.json*")):
        documents = [json.dumps(bent(json.loads(text), chance)) for text in _list_documents(path)]
        content = "".join(text + "\n" for text in documents).encode()
        path.write_bytes(zstd.compress(content) if path.suffix == ".zstd" else content)


def bend_databases(folder: Path, chance: random.Random) -> None:
    """Bends every JSON text in every table of every database below a folder."""
    for path in sorted((*folder.rglob("*.db"), *folder.rglob("*.vscdb"), *folder.rglob("*.sqlite"))):
        with sqlite3.connect(path) as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in tables:
                for column in [row[1] for row in db.execute(f"PRAGMA table_info({table})")]:
                    _bend_column(db, table, column, chance)
        db.close()


def _bend_column(db: sqlite3.Connection, table: str, column: str, chance: random.Random) -> None:
    for own, value in db.execute(f'SELECT rowid, "{column}" FROM {table}').fetchall():
        is_packed = isinstance(value, bytes) and value.startswith(_ZSTD)
        text = zstd.decompress(value).decode() if is_packed else value
        if isinstance(text, str) and text[:1] in ("{", "["):
            odd = json.dumps(bent(json.loads(text), chance))
            new = zstd.compress(odd.encode()) if is_packed else odd
            db.execute(f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (new, own))


def _list_documents(path: Path) -> list[str]:
    packed = path.suffix == ".zstd"
    with zstd.open(path, "rt") if packed else path.open() as file:
        text = file.read()
    return [line for line in text.splitlines() if line.strip()] if ".jsonl" in path.name else [text]
