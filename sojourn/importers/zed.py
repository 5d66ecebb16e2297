"""Zed: threads of its own agent in `threads/threads.db`; each is one document, compressed or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.importers.history_importer import DatabaseImporter, StoredSession, list_data_folders
from sojourn.importers.jsonl import parse_object
from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.regular_file import MAX_LINE_BYTES
from sojourn.importers.sqlite_reader import list_columns, query_rows
from sojourn.importers.transcript_builder import TranscriptBuilder, as_list, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NAME = "zed"
_ROLES = ("user", "assistant")
_PIECE_BYTES = 1 << 20


class ZedImporter(DatabaseImporter):
    """Imports threads of Zed's agent."""

    name, label = NAME, "Zed"
    file_name, columns = "threads.db", MappingProxyType({"threads": "data_type"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        local = environment.get("LOCALAPPDATA")
        flatpak = environment.get("FLATPAK_XDG_DATA_HOME")
        folders = [
            *([Path(flatpak) / "zed"] if flatpak else []),
            *list_data_folders(user_home, environment, unix="zed", mac="Zed", windows="Zed"),
            user_home / ".var" / "app" / "dev.zed.Zed" / "data" / "zed",
            (Path(local) if local else user_home / "AppData" / "Local") / "Zed",
        ]
        return [folder / "threads" / self.file_name for folder in folders]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        wanted = [name for name in ("created_at", "parent_id") if name in list_columns(db, "threads")]
        columns = ", ".join(("id", "updated_at", "length(data) AS size", *wanted))
        for row in query_rows(db, f"SELECT {columns} FROM threads"):
            yield StoredSession(
                native_id=str(row["id"]),
                path=path,
                fingerprint=f"{row['updated_at']}:{row['size']}",
                began=to_seconds(row.get("created_at")) or to_seconds(row["updated_at"]),
                parent=as_text(row.get("parent_id")) or "",
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        [row] = query_rows(db, "SELECT * FROM threads WHERE id = ?", one.native_id)
        document = parse_object(_unpack(row))
        if document is None or not isinstance(document.get("messages"), list):
            raise TypeError(f"thread {one.native_id} is damaged: its messages are not a list")
        builder = TranscriptBuilder(one.began)  # the program writes no times of messages
        for number, message in enumerate(document["messages"], 1):
            _add_message(builder, number, message)
        model, paths = as_mapping(document.get("model")), as_text(row.get("folder_paths")) or ""
        _add_usage(builder, document, as_text(model.get("model")) or "", as_text(model.get("provider")) or "")
        fields = {
            "source": "subagent" if one.parent else NAME,
            "parent_session_id": one.parent or None,
            "title": as_text(document.get("title")) or as_text(document.get("summary")) or as_text(row.get("summary")),
            "cwd": as_text(paths.split("\n")[0]),
            "model": as_text(model.get("model")),
            "billing_provider": as_text(model.get("provider")),
            "started_at": one.began,
        }
        builder.add_record("thread", to_json({key: document[key] for key in document if key != "messages"}))
        return builder.build(one.native_id, fields)


def _unpack(row: Mapping[str, Any]) -> bytes:
    data = row.get("data")
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data or b"")
    if row.get("data_type") != "zstd":
        return raw
    decompressor = zstd.ZstdDecompressor()
    try:
        text = decompressor.decompress(raw, MAX_LINE_BYTES + 1)
    except zstd.ZstdError as error:
        raise ValueError(f"thread {row.get('id')} cannot be unpacked: {error}") from error
    if len(text) > MAX_LINE_BYTES or not decompressor.eof:
        raise ValueError(f"thread {row.get('id')} ends early, or holds more than {MAX_LINE_BYTES >> 20} MB")
    return text


def _add_message(builder: TranscriptBuilder, number: int, message: Any) -> None:
    pieces, own, role = MessagePieces(), str(number), "system"
    if "User" in as_mapping(message):
        said, role = as_mapping(message["User"]), "user"
        own = as_text(said.get("id")) or own
        for block in as_list(said.get("content")):
            _sort_block(pieces, block)
    elif "Agent" in as_mapping(message):
        said, role = as_mapping(message["Agent"]), "assistant"
        for block in as_list(said.get("content")):
            _sort_block(pieces, block)
        for call_id, result in as_mapping(said.get("tool_results")).items():
            _add_result(pieces, call_id, as_mapping(result))
    elif "segments" in as_mapping(message):  # documents of version 0.2
        role = str(message.get("role"))
        for segment in map(as_mapping, as_list(message.get("segments"))):
            add = pieces.add_text if segment.get("type") == "text" else pieces.add_thought
            add(segment.get("text"))
        for call in map(as_mapping, as_list(message.get("tool_uses"))):
            pieces.add_call(call.get("id"), call.get("name"), call.get("input"))
        for result in map(as_mapping, as_list(message.get("tool_results"))):
            _add_result(pieces, result.get("tool_use_id"), result)
    elif message == "Resume":
        builder.add_record("Resume", to_json(message))
        return
    else:
        builder.add_unknown(next(iter(as_mapping(message)), "message"), to_json(message))
        return
    if not pieces.add_to(builder, role if role in _ROLES else "system", own, 0.0):
        builder.add_record(role, to_json(message))


def _sort_block(pieces: MessagePieces, block: Any) -> None:
    one = as_mapping(block)
    if "Text" in one:
        pieces.add_text(one["Text"])
    elif "Thinking" in one:
        pieces.add_thought(as_mapping(one["Thinking"]).get("text") or one["Thinking"])
    elif "ToolUse" in one:
        call = as_mapping(one["ToolUse"])
        pieces.add_call(call.get("id"), call.get("name"), call.get("input") or call.get("raw_input"))
    elif "Mention" in one:
        mention = as_mapping(one["Mention"])
        pieces.parts.append({"type": "context", "uri": mention.get("uri"), "text": as_text(mention.get("content"))})
    elif one and "RedactedThinking" not in one:
        kind = next(iter(one))
        pieces.parts.append({"type": kind.lower(), **as_mapping(one[kind])})


def _add_result(pieces: MessagePieces, call_id: Any, result: dict[str, Any]) -> None:
    blocks = MessagePieces()
    content = result.get("content")
    for block in content if isinstance(content, list) else [content]:
        _sort_block(blocks, {"Text": block} if isinstance(block, str) else block)
    given = blocks.parts or result.get("output")
    pieces.add_output(call_id, given, is_error=result.get("is_error") is True)


def _add_usage(builder: TranscriptBuilder, document: Mapping[str, Any], model: str, provider: str) -> None:
    """Counts of each request, by the id of its prompt; older documents have one sum."""
    listed = document.get("request_token_usage")
    rows = list(listed.values()) if isinstance(listed, dict) else as_list(listed)
    for row in map(as_mapping, rows or [document.get("cumulative_token_usage")]):
        if row:
            builder.usage.add(
                model,
                provider=provider,
                input_tokens=row.get("input_tokens"),
                output_tokens=row.get("output_tokens"),
                cache_read_tokens=row.get("cache_read_input_tokens"),
                cache_write_tokens=row.get("cache_creation_input_tokens"),
            )


plugin = Plugin(name=NAME, summary="Imports the threads of Zed.", sources=[ZedImporter])
