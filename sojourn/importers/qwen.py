"""Qwen Code: JSON lines under `~/.qwen/projects/<folder>/chats/`, in which every record names its parent.

A rewind continues at an earlier record, so the records form a tree; the last one is the leaf of the active branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.google_parts import sort_google_parts
from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file
from sojourn.importers.jsonl import JsonLine, JsonLinesFile
from sojourn.importers.message_pieces import list_extra
from sojourn.importers.message_tree import order_tree
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_mapping,
    as_text,
    make_title,
    to_count,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "qwen"
_ROLES = {"user": "user", "assistant": "assistant", "tool_result": "tool"}
_TYPED = ("mid_turn_user_message", "realtime_message")  # kinds of system records that hold a person's words
_KNOWN = (
    *("uuid", "parentUuid", "sessionId", "timestamp", "type", "provenance", "cwd", "version", "gitBranch", "message"),
    *("model", "usageMetadata", "contextWindowSize", "subtype", "systemPayload"),
)
# Kinds of system records that are understood, or that say nothing to a reader.
_QUIET = (
    *("custom_title", "chat_compression", "rewind", "parent_session", "session_source", "session_model"),
    *("slash_command", "ui_telemetry", "at_command", "attribution_snapshot", "file_history_snapshot", "turn_result"),
    *("branch_checkpoint", "background_task_completed", "notification"),
)


class QwenImporter(FileImporter):
    """Imports sessions of Qwen Code."""

    name, label = NAME, "Qwen Code"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [user_home / ".qwen"]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            is_ours = home.parent.name == "chats" and home.parent.parent.parent.name == "projects"
            found = [home] if is_ours and home.suffix == ".jsonl" else []
        else:
            root = home if home.name == "projects" else home / "projects"
            found = sorted(root.glob("*/chats/*.jsonl"))
        yield from (inspect_file(path.stem, path) for path in found)

    def read_session(self, one: StoredSession) -> Transcript:
        file = JsonLinesFile(one.path)
        lines = {str(line.record.get("uuid") or f"line-{line.number}"): line for line in file}
        parents = {own: as_text(line.record.get("parentUuid")) for own, line in lines.items()}
        builder, facts = TranscriptBuilder(one.began), dict[str, Any]()
        for own, is_active in order_tree(parents, None):
            start = len(builder.messages)
            _add_record(builder, facts, own, lines[own])
            if not is_active:
                builder.mark_undone(start)
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        fields = {
            "source": NAME,
            "parent_session_id": facts.get("parent"),
            "title": facts.get("title") or make_title(next(prompts, "")),
            "cwd": facts.get("cwd"),
            "git_branch": facts.get("gitBranch"),
            "model": facts.get("model"),
            "started_at": builder.messages[0].timestamp if builder.messages else one.began,
        }
        return builder.build(one.native_id, fields, file)


def _add_record(builder: TranscriptBuilder, facts: dict[str, Any], own: str, line: JsonLine) -> None:
    record = line.record
    kind, subtype, payload = (
        record.get("type"),
        str(record.get("subtype") or ""),
        as_mapping(record.get("systemPayload")),
    )
    facts |= {key: record[key] for key in ("cwd", "gitBranch", "model") if as_text(record.get(key))}
    if kind == "system" and subtype not in _TYPED:
        facts |= {"title": payload["customTitle"]} if as_text(payload.get("customTitle")) else {}
        facts |= {"parent": payload["parentSessionId"]} if as_text(payload.get("parentSessionId")) else {}
        if subtype == "chat_compression":
            builder.mark_compacted()
        add = builder.add_record if subtype in _QUIET or subtype.startswith("goal_") else builder.add_unknown
        add(subtype or "system", line.text)
        return
    content = as_mapping(record.get("message")).get("parts")
    pieces = sort_google_parts(content if content is not None else payload.get("text") or payload.get("message"))
    result = as_mapping(record.get("toolCallResult"))
    if kind == "tool_result" and not pieces.outputs:
        pieces.add_output(result.get("callId"), result.get("resultDisplay") or "".join(pieces.list_texts()))
        pieces.parts = []
    if result.get("status") == "error" or result.get("error"):
        pieces.outputs = [(call_id, parts, True) for call_id, parts, _ in pieces.outputs]
    is_typed = kind == "user" and record.get("provenance") in (None, "real_user")
    role = "user" if is_typed or subtype in _TYPED else _ROLES.get(str(kind), "system") if kind != "user" else "system"
    when = to_seconds(record.get("timestamp"))
    if not pieces.add_to(builder, role, own, when, **list_extra(record, (*_KNOWN, "toolCallResult"))):
        builder.add_unknown(str(kind or "record"), line.text)
    if usage := as_mapping(record.get("usageMetadata")):
        cached = to_count(usage.get("cachedContentTokenCount"))
        builder.usage.add(
            as_text(record.get("model")) or "",
            input_tokens=max(0, to_count(usage.get("promptTokenCount")) - cached),
            cache_read_tokens=cached,
            output_tokens=usage.get("candidatesTokenCount"),
            reasoning_tokens=usage.get("thoughtsTokenCount"),
        )


plugin = Plugin(name=NAME, summary="Imports the history of Qwen Code.", sources=[QwenImporter])
