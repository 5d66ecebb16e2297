"""The schema of a program's history: which fields its records have and of which types, whatever their values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = dict[str, list[str]]  # types by the path of a field
_MAX_DEPTH = 8
_FREE = (
    "arguments",
    "args",
    "input",
    "output",
    "metadata",
    "state",
    "snapshot",
    "tools",
    "properties",
    "env",
    "modelUsage",
)


def read_schema(files: list[Path]) -> Schema:
    """The schema of JSON lines, JSON documents and SQLite databases together."""
    found: dict[str, set[str]] = {}
    for path in files:
        for prefix, record in _list_records(path):
            _add(found, prefix, record, 0)
    return {path: sorted(types) for path, types in sorted(found.items())}


def _list_records(path: Path) -> Iterator[tuple[str, Any]]:
    if path.suffix == ".db":
        yield from _list_rows(path)
        return
    text = path.read_text("utf-8", "replace")
    try:
        whole = json.loads(text)
        yield path.suffix.lstrip("."), whole
    except ValueError:
        for line in text.splitlines():
            record = json.loads(line) if line.strip() else {}
            yield _name_kind(record), record


def _list_rows(path: Path) -> Iterator[tuple[str, Any]]:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
            columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
            yield table, dict.fromkeys(columns, "")
            for row in db.execute(f'SELECT * FROM "{table}"'):
                for column, value in zip(columns, row, strict=True):
                    if isinstance(value, str) and value.startswith("{"):
                        record = json.loads(value)
                        yield f"{table}.{column}:{_name_kind(record)}", record


def _name_kind(record: Any) -> str:
    """What kind of record this is, as the program calls it."""
    names = []
    while isinstance(record, Mapping):
        names += [str(record[key]) for key in ("type", "role") if isinstance(record.get(key), str)]
        record = record.get("payload")
    return "/".join(names)


def _add(found: dict[str, set[str]], path: str, value: Any, depth: int) -> None:
    found.setdefault(path, set()).add(type(value).__name__)
    if depth >= _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            name = f"{path}.{key}"
            if key in _FREE:
                found.setdefault(name, set()).add(type(inner).__name__)
            else:
                _add(found, name, inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _add(found, f"{path}[{_name_kind(inner)}]", inner, depth + 1)


def compare_schemas(recorded: Schema, found: Schema) -> list[str]:
    """What differs, a line each: fields that came, went or have another type. No line: nothing."""
    came = [f"+ {path} ({'|'.join(found[path])})" for path in found if path not in recorded]
    gone = [f"- {path} ({'|'.join(recorded[path])})" for path in recorded if path not in found]
    both = [path for path in found if path in recorded]
    others = [
        f"~ {path}: {'|'.join(recorded[path])} is {'|'.join(found[path])}"
        for path in both
        if not set(found[path]) <= set(recorded[path])
    ]
    return [*came, *gone, *others]
