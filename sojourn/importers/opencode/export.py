"""Files of `opencode export`: one JSON document with a session and its messages. A person names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_document, read_start
from sojourn.importers.opencode.messages import add_v1_rows
from sojourn.importers.opencode.rows import MessageRow, SessionBuilder, SessionRow
from sojourn.importers.transcript_builder import as_list, as_mapping, as_text, to_json
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "opencode-export"
_ID = re.compile(rb'\A\s*\{\s*"info":\s*\{[^{}]*?"id":\s*"(ses_[^"]+)"')
_NAMES = {"parentID": "parent_id", "projectID": "project_id"}


class OpencodeExportImporter(FileImporter):
    """Imports sessions that opencode exported."""

    name, label = NAME, "opencode export"
    store_home = "export"  # under which imports are remembered, whatever file a session came in

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return []

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        for path in [home] if home.is_file() else sorted(home.glob("*.json")):
            if own := read_start(path, _ID):
                yield inspect_file(own, path)

    def read_session(self, one: StoredSession) -> Transcript:
        document = as_mapping(read_document(one.path))
        if not isinstance(document.get("messages"), list):
            raise TypeError("its messages are not a list")
        info = as_mapping(document.get("info"))
        times = {f"time_{name}": moment for name, moment in as_mapping(info.get("time")).items()}
        values = {_NAMES.get(name, name): value for name, value in info.items()} | times
        into = SessionBuilder(SessionRow(id=one.native_id, values={**values, "time_updated": 0}))
        add_v1_rows(into, [_to_row(number, row) for number, row in enumerate(document["messages"], 1)])
        return into.build()


def _to_row(number: int, row: Any) -> MessageRow:
    info = as_mapping(as_mapping(row).get("info"))
    return MessageRow(
        id=as_text(info.get("id")) or f"message-{number}",
        data=to_json(info),
        parts=tuple(
            (as_text(as_mapping(part).get("id")) or f"part-{at}", to_json(part))
            for at, part in enumerate(as_list(as_mapping(row).get("parts")), 1)
        ),
    )


plugin = Plugin(name=NAME, summary="Imports sessions that opencode exported.", sources=[OpencodeExportImporter])
