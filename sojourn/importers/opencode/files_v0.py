"""Before 1.2: a tree of small JSON files. Later versions do not always take it over, so it is always looked at.

storage/session/<project>/<session>.json
storage/message/<session>/<message>.json
storage/part/<message>/<part>.json
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.jsonl import as_object
from sojourn.importers.opencode import v1
from sojourn.importers.opencode.rows import Gathering, Row, SessionRow
from sojourn.importers.transcript_builder import mapping, seconds
from sojourn.text.escape import from_bytes

_NAMES = {"parentID": "parent_id", "projectID": "project_id"}


class Tree:
    """The tree below `storage`. Files are read when their session is."""

    def __init__(self, storage: Path) -> None:
        self._storage = storage

    @cached_property
    def files(self) -> dict[str, Path]:
        """Where each session is, by its id."""
        return {path.stem: path for path in sorted(self._storage.glob("session/*/*.json"))}

    def size(self) -> int:
        walked = os.walk(self._storage) if self.files else ()
        return sum(Path(place, name).stat().st_size for place, _, names in walked for name in names)

    def fingerprint(self, path: Path) -> str:
        """A message is written again when it is finished, so its file tells of its parts too."""
        stat, count, newest = path.stat(), 0, 0
        folder = self._storage / "message" / path.stem
        for entry in os.scandir(folder) if folder.is_dir() else ():
            count, newest = count + 1, max(newest, entry.stat().st_mtime_ns)
        return f"{stat.st_size}:{stat.st_mtime_ns}:{count}:{newest}"

    def head(self, path: Path) -> SessionRow:
        """A session without its messages. SourceUnreadable"""
        found = as_object(_text(path))
        if found is None:
            raise SourceUnreadable(f"{path} cannot be read: it is no JSON object.", hint="Is the file whole?")
        times = {f"time_{name}": moment for name, moment in mapping(found.get("time")).items()}
        values: dict[str, Any] = {_NAMES.get(name, name): value for name, value in found.items()}
        return SessionRow(id=path.stem, values=values | times)

    def gather(self, path: Path) -> Gathering:
        session = self.head(path)
        into = Gathering(session)
        v1.add(into, sorted(self._rows(session.id), key=lambda row: (row.created, row.id)))
        return into

    def _rows(self, native: str) -> Iterator[Row]:
        for path in sorted((self._storage / "message" / native).glob("*.json")):
            text = _text(path)
            created = seconds(mapping(mapping(as_object(text)).get("time")).get("created"))
            parts = ((part.stem, _text(part)) for part in sorted((self._storage / "part" / path.stem).glob("*.json")))
            yield Row(id=path.stem, data=text, created=created, parts=tuple(parts))


def _text(path: Path) -> str:
    try:
        return from_bytes(path.read_bytes())
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read: {error.strerror or error}.", hint="May you read it?") from error
