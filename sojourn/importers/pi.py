"""pi: JSON lines under `~/.pi/agent/sessions/<folder>/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_start
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.pi_entries import add_entries
from sojourn.importers.transcript_builder import TranscriptBuilder
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "pi"
_ID = re.compile(rb'\A\s*\{\s*"type":\s*"session"[^\n]*?"id":\s*"([^"]+)"')


class PiImporter(FileImporter):
    """Imports sessions of pi."""

    name, label = NAME, "pi"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        home = Path(environment.get("PI_CODING_AGENT_DIR") or user_home / ".pi" / "agent")
        return [Path(environment.get("PI_CODING_AGENT_SESSION_DIR") or home / "sessions")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.suffix == ".jsonl" and read_start(home, _ID) else []
        else:
            root = home if home.name == "sessions" else home / "sessions"
            found = sorted(root.glob("--*--/*.jsonl"))
        for path in found:
            yield inspect_file(read_start(path, _ID) or path.stem.rpartition("_")[2], path)

    def read_session(self, one: StoredSession) -> Transcript:
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        facts = add_entries(builder, [line.record for line in file])
        parent = re.search(r"_([^_/\\]+)\.jsonl\Z", facts.pop("parent", None) or "")
        fields = {"source": NAME, **facts, "parent_session_id": parent[1] if parent else None}
        return builder.build(one.native_id, {**fields, "started_at": facts.get("started_at") or one.began}, file)


plugin = Plugin(name=NAME, summary="Imports the history of pi.", sources=[PiImporter])
