"""A session in the form of another program: the files to write, or the rows to add to its database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeSession:
    """What will be written. Files and rows are new ones: nothing that exists is changed."""

    native_id: str
    home: Path  # in which the importer of the program finds it
    folder: str  # in which the program has to run
    files: Mapping[Path, str] = field(default_factory=dict)
    load: Sequence[str] = ()  # the program's own command that takes the file into its database
    database: Path | None = None  # or the database that gets rows
    rows: Sequence[tuple[str, Mapping[str, Any]]] = ()  # by table


def to_json_lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False, separators=(",", ":")) + "\n" for one in records)


def to_iso(seconds: float) -> str:
    """A time as these programs write it: UTC, with milliseconds."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
