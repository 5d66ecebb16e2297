"""Crush: a database in each project, `.crush/crush.db`; `projects.json` lists the projects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.importers.history_importer import DatabaseImporter, StoredSession, list_data_folders, read_side_document
from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.sqlite_reader import query_rows
from sojourn.importers.transcript_builder import TranscriptBuilder, as_list, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "crush"
_ROLES = ("user", "assistant", "tool")


class CrushImporter(DatabaseImporter):
    """Imports sessions of Crush."""

    name, label = NAME, "Crush"
    file_name, columns = "crush.db", MappingProxyType({"sessions": "completion_tokens", "messages": "parts"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        folders = list_data_folders(user_home, environment, unix="crush", mac="crush", windows="crush")
        local = user_home / "AppData" / "Local" / "crush"
        listed = [read_side_document(folder / "projects.json") for folder in (*folders, local)]
        projects = [as_mapping(one) for document in listed for one in as_list(document.get("projects"))]
        return [
            Path(folder) / self.file_name
            for one in projects
            if (folder := as_text(one.get("data_dir")) or f"{as_text(one.get('path')) or ''}/.crush") != "/.crush"
        ]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        for row in query_rows(db, "SELECT * FROM sessions"):
            marks = (row.get("updated_at"), row.get("message_count"), row.get("title"))
            yield StoredSession(
                native_id=str(row["id"]),
                path=path,
                fingerprint=":".join(map(str, marks)),
                began=to_seconds(row.get("created_at")),
                parent=as_text(row.get("parent_session_id")) or "",
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        [row] = query_rows(db, "SELECT * FROM sessions WHERE id = ?", one.native_id)
        builder, models = TranscriptBuilder(one.began), list[tuple[str, str]]()
        said = "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid"
        for message in query_rows(db, said, one.native_id):
            _add_message(builder, message, models)
        model, provider = models[-1] if models else ("", "")
        if row.get("prompt_tokens") or row.get("completion_tokens"):
            cost = row.get("cost")
            builder.usage.add(
                model,
                provider=provider,
                cost=cost if isinstance(cost, float) else None,
                input_tokens=row.get("prompt_tokens"),
                output_tokens=row.get("completion_tokens"),
            )
        fields = {
            "source": "subagent" if one.parent else NAME,
            "parent_session_id": one.parent or None,
            "title": as_text(row.get("title")),
            "cwd": str(one.path.parent.parent) if one.path.parent.name == ".crush" else None,
            "model": model or None,
            "billing_provider": provider or None,
            "started_at": one.began,
        }
        builder.add_record("session", to_json(row))
        return builder.build(one.native_id, fields)


def _add_message(builder: TranscriptBuilder, row: dict[str, Any], models: list[tuple[str, str]]) -> None:
    try:
        parts = as_list(json.loads(row.get("parts") or "[]"))
    except (ValueError, RecursionError):
        builder.warnings.append(f"message {row['id']} cannot be read; it is stored unchanged")
        builder.add_record("unreadable", str(row.get("parts")))
        return
    pieces, reason = MessagePieces(), None
    for part in map(as_mapping, parts):
        data = as_mapping(part.get("data"))
        reason = as_text(data.get("reason")) if part.get("type") == "finish" else reason
        _sort_part(pieces, str(part.get("type")), data)
    if model := as_text(row.get("model")):
        models.append((model, as_text(row.get("provider")) or ""))
    role = str(row.get("role"))
    if row.get("is_summary_message"):
        builder.mark_compacted()
        role = "system"
    known = role if role in _ROLES else "system"
    when = to_seconds(row.get("created_at"))
    if not pieces.add_to(builder, known, str(row["id"]), when, finish_reason=reason):
        builder.add_record("message", to_json(row))


def _sort_part(pieces: MessagePieces, kind: str, data: dict[str, Any]) -> None:
    if kind == "text":
        pieces.add_text(data.get("text"))
    elif kind == "reasoning":
        pieces.add_thought(data.get("thinking"))
    elif kind == "tool_call":
        pieces.add_call(data.get("id"), data.get("name"), data.get("input"))
    elif kind == "tool_result":
        pieces.add_output(data.get("tool_call_id"), data.get("content"), is_error=bool(data.get("is_error")))
    elif kind == "shell_command":
        pieces.add_text(f"$ {data.get('command')}\n{as_text(data.get('output')) or ''}".rstrip())
    elif kind != "finish":
        pieces.parts.append({"type": kind, **data})


plugin = Plugin(name=NAME, summary="Imports the history of Crush.", sources=[CrushImporter])
