"""Kimi Code and kimi-cli: `wire.jsonl` of each agent of a session, and the older program's `wire.jsonl` of envelopes.

~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl    state.json of the session beside `agents`
~/.kimi/sessions/<md5>/<session>/wire.jsonl                            kimi-cli
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_side_document
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.kimi_records import KimiRecords
from sojourn.importers.transcript_builder import TranscriptBuilder, as_text, make_title, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "kimi"
_WIRE, _STATE, _MAIN = "wire.jsonl", "state.json", "main"
_DESKTOP = "kimi-desktop/daimon-share/daimon/runtime/kimi-code/home"
_HELPERS = ("ctitle-", "sklsum-", "dvlt-")  # sessions that the desktop program starts for itself


class KimiImporter(FileImporter):
    """Imports sessions of Kimi Code and kimi-cli."""

    name, label = NAME, "Kimi Code"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        own = environment.get("KIMI_CODE_HOME")
        roaming = Path(environment.get("APPDATA") or user_home / "AppData" / "Roaming")
        data = [user_home / ".config", user_home / "Library" / "Application Support", roaming]
        homes = [Path(own)] if own else [user_home / ".kimi-code", *(folder / _DESKTOP for folder in data)]
        older = environment.get("KIMI_SHARE_DIR")
        return [*homes, Path(older) if older else user_home / ".kimi"]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name == _WIRE else []
        else:
            root = home if home.name == "sessions" else home / "sessions"
            found = sorted((*root.glob(f"*/*/agents/*/{_WIRE}"), *root.glob(f"*/*/{_WIRE}")))
        for path in found:
            session = _find_folder(path)
            if session.name.startswith(_HELPERS):
                continue
            agent = path.parent.name if path.parent != session else _MAIN
            is_main = agent == _MAIN
            yield inspect_file(
                session.name if is_main else f"{session.name}#{agent}",
                path,
                session / _STATE,
                parent="" if is_main else session.name,
            )

    def read_session(self, one: StoredSession) -> Transcript:
        state = read_side_document(_find_folder(one.path) / _STATE)
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        records = KimiRecords(builder)
        for line in file:
            records.add(line.number, line.record)
        records.close()
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        title = None if one.parent else as_text(state.get("title")) or as_text(state.get("custom_title"))
        fields = {
            "source": "subagent" if one.parent else NAME,
            "parent_session_id": one.parent or None,
            "title": title or make_title(next(prompts, "")),
            "cwd": as_text(state.get("workDir")) or records.cwd,
            "model": records.model,
            "started_at": to_seconds(state.get("createdAt")) or one.began,
        }
        if state and not one.parent:
            builder.add_record("state", to_json({key: value for key, value in state.items() if key != "agents"}))
        return builder.build(one.native_id, fields, file)


def _find_folder(path: Path) -> Path:
    """The folder of the session that a file belongs to."""
    return path.parents[2] if path.parents[1].name == "agents" else path.parent


plugin = Plugin(name=NAME, summary="Imports the history of Kimi Code.", sources=[KimiImporter])
