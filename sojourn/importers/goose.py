"""goose: the database `sessions.db`, from version 1.10 on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.importers.history_importer import DatabaseImporter, StoredSession, list_data_folders
from sojourn.importers.jsonl import parse_object
from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.sqlite_reader import query_rows
from sojourn.importers.transcript_builder import TranscriptBuilder, as_list, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "goose"


class GooseImporter(DatabaseImporter):
    """Imports sessions of goose."""

    name, label = NAME, "goose"
    file_name, columns = "sessions.db", MappingProxyType({"sessions": "working_dir", "messages": "content_json"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        own = environment.get("GOOSE_PATH_ROOT")
        folders = list_data_folders(user_home, environment, unix="goose", mac="goose", windows="Block/goose/data")
        return [folder / "sessions" / self.file_name for folder in ([Path(own) / "data"] if own else folders)]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        counted = "SELECT session_id, count(*) AS n, max(id) AS last FROM messages GROUP BY session_id"
        counts = {row["session_id"]: (row["n"], row["last"]) for row in query_rows(db, counted)}
        for row in query_rows(db, "SELECT * FROM sessions"):
            marks = (row.get("updated_at"), *counts.get(row["id"], (0, 0)), row.get("description"), row.get("name"))
            yield StoredSession(
                native_id=str(row["id"]),
                path=path,
                fingerprint=":".join(map(str, marks)),
                began=to_seconds(row.get("created_at")),
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        [row] = query_rows(db, "SELECT * FROM sessions WHERE id = ?", one.native_id)
        builder = TranscriptBuilder(to_seconds(row.get("created_at")))
        for said in query_rows(db, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", one.native_id):
            _add_message(builder, said)
        model = as_text((parse_object(row.get("model_config_json") or "") or {}).get("model_name"))
        sums = {name: row.get(f"accumulated_{name}") or row.get(name) for name in ("input_tokens", "output_tokens")}
        if any(sums.values()):
            cost = row.get("accumulated_cost")
            provider = as_text(row.get("provider_name")) or ""
            builder.usage.add(model or "", provider=provider, cost=cost if isinstance(cost, float) else None, **sums)
        fields = {
            "source": "subagent" if row.get("session_type") == "sub_agent" else NAME,
            "title": as_text(row.get("description")) or as_text(row.get("name")),
            "cwd": as_text(row.get("working_dir")),
            "model": model,
            "billing_provider": as_text(row.get("provider_name")),
            "archived": int(bool(row.get("archived_at"))),
            "started_at": to_seconds(row.get("created_at")),
        }
        builder.add_record("session", to_json(row))
        return builder.build(one.native_id, fields)


def _add_message(builder: TranscriptBuilder, row: dict[str, Any]) -> None:
    try:
        blocks = as_list(json.loads(row.get("content_json") or "[]"))
    except (ValueError, RecursionError):
        builder.warnings.append(f"message {row['id']} cannot be read; it is stored unchanged")
        builder.add_record("unreadable", str(row.get("content_json")))
        return
    pieces = MessagePieces()
    for block in map(as_mapping, blocks):
        _sort_block(pieces, block)
    flags = parse_object(row.get("metadata_json") or "") or {}
    role = str(row.get("role") or "system") if flags.get("userVisible") is not False else "system"
    when = to_seconds(row.get("created_timestamp"))
    start = len(builder.messages)
    if not pieces.add_to(builder, role, str(row.get("message_id") or row["id"]), when):
        builder.add_record("message", to_json(row))
    if flags.get("agentVisible") is False:
        builder.mark_compacted(lambda message: message in builder.messages[:start])


def _sort_block(pieces: MessagePieces, block: dict[str, Any]) -> None:
    kind = block.get("type")
    if kind == "text":
        pieces.add_text(block.get("text"))
    elif kind == "thinking":
        pieces.add_thought(block.get("thinking"))
    elif kind == "toolRequest":
        call = as_mapping(as_mapping(block.get("toolCall")).get("value"))
        pieces.add_call(block.get("id"), call.get("name"), call.get("arguments"))
    elif kind == "toolResponse":
        result = as_mapping(block.get("toolResult"))
        value = result.get("value")
        content = value if isinstance(value, list) else as_mapping(value).get("content")
        is_error = result.get("status") == "error" or bool(as_mapping(value).get("isError"))
        pieces.add_output(block.get("id"), content if content is not None else result.get("error"), is_error=is_error)
    elif kind != "redactedThinking" and block:
        pieces.parts.append(block)


plugin = Plugin(name=NAME, summary="Imports the history of goose.", sources=[GooseImporter])
