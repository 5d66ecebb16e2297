"""Reads the JSON files of opencode before 1.2. Later versions do not always convert them.

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
from sojourn.importers.jsonl import parse_object
from sojourn.importers.opencode.messages import add_v1_rows
from sojourn.importers.opencode.rows import MessageRow, SessionBuilder, SessionRow
from sojourn.importers.regular_file import read_regular
from sojourn.importers.transcript_builder import as_mapping, to_seconds
from sojourn.text.escape import from_bytes

_NAMES = {"parentID": "parent_id", "projectID": "project_id"}


class FileTree:
    """The files below `storage`; reads them session by session."""

    def __init__(self, storage: Path) -> None:
        self._storage = storage

    @cached_property
    def files(self) -> dict[str, Path]:
        """The file of each session, by its id."""
        return {path.stem: path for path in sorted(self._storage.glob("session/*/*.json"))}

    def size(self) -> int:
        walked = os.walk(self._storage) if self.files else ()
        return sum(Path(place, name).stat().st_size for place, _, names in walked for name in names)

    def fingerprint(self, path: Path) -> str:
        """A fingerprint of session and messages. opencode rewrites a message when its parts are complete."""
        stat, count, newest = path.stat(), 0, 0
        folder = self._storage / "message" / path.stem
        for entry in list(os.scandir(folder)) if folder.is_dir() else ():
            count, newest = count + 1, max(newest, entry.stat().st_mtime_ns)
        return f"{stat.st_size}:{stat.st_mtime_ns}:{count}:{newest}"

    def read_head(self, path: Path) -> SessionRow:
        """Reads a session without its messages. Raises SourceUnreadable."""
        found = parse_object(_read_text(path))
        if found is None:
            raise SourceUnreadable(f"{path} cannot be read: it is not a JSON object.", hint="Check the file.")
        times = {f"time_{name}": moment for name, moment in as_mapping(found.get("time")).items()}
        values: dict[str, Any] = {_NAMES.get(name, name): value for name, value in found.items()}
        return SessionRow(id=path.stem, values=values | times)

    def read_session(self, path: Path) -> SessionBuilder:
        session = self.read_head(path)
        into = SessionBuilder(session)
        add_v1_rows(into, sorted(self._read_rows(session.id), key=lambda row: (row.created, row.id)))
        return into

    def _read_rows(self, native: str) -> Iterator[MessageRow]:
        for path in sorted((self._storage / "message" / native).glob("*.json")):
            text = _read_text(path)
            created = to_seconds(as_mapping(as_mapping(parse_object(text)).get("time")).get("created"))
            parts = (
                (part.stem, _read_text(part)) for part in sorted((self._storage / "part" / path.stem).glob("*.json"))
            )
            yield MessageRow(id=path.stem, data=text, created=created, parts=tuple(parts))


def _read_text(path: Path) -> str:
    try:
        return from_bytes(read_regular(path))
    except OSError as error:
        raise SourceUnreadable(
            f"{path} cannot be read: {error.strerror or error}.", hint="Check its permissions."
        ) from error
