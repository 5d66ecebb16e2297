"""Mistral Vibe: `~/.vibe/logs/session/<folder>/messages.jsonl`, with `meta.json` beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_side_document
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces, add_openai_calls, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_mapping,
    as_parts,
    as_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "mistral-vibe"
_MESSAGES, _META = "messages.jsonl", "meta.json"
_KNOWN = (
    *("role", "content", "reasoning_content", "tool_calls", "name", "tool_call_id", "message_id", "injected", "model"),
    "timestamp",
)


class MistralVibeImporter(FileImporter):
    """Imports sessions of Mistral Vibe."""

    name, label = NAME, "Mistral Vibe"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("VIBE_HOME") or user_home / ".vibe")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name == _MESSAGES and home.with_name(_META).is_file() else []
        else:
            root = home / "logs" / "session"
            found = sorted((*root.glob(f"*/{_MESSAGES}"), *root.glob(f"*/agents/*/{_MESSAGES}")))
        for path in found:
            meta = read_side_document(path.with_name(_META))
            yield inspect_file(
                as_text(meta.get("session_id")) or path.parent.name,
                path,
                path.with_name(_META),
                parent=as_text(meta.get("parent_session_id")) or "",
            )

    def read_session(self, one: StoredSession) -> Transcript:
        meta = read_side_document(one.path.with_name(_META))
        started = to_seconds(meta.get("start_time")) or one.began
        file, builder, models = JsonLinesFile(one.path), TranscriptBuilder(started), list[str]()
        for line in file:
            _add_message(builder, f"line-{line.number}", line.record, models)
        config = as_mapping(meta.get("config"))
        model = next(reversed(models), None) or as_text(config.get("active_model"))
        stats = as_mapping(meta.get("stats"))
        if any(key.endswith("_tokens") for key in stats):
            cost = stats.get("session_cost")
            builder.usage.add(
                model or "",
                cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
                input_tokens=stats.get("session_prompt_tokens"),
                output_tokens=stats.get("session_completion_tokens"),
                cache_read_tokens=stats.get("session_cached_tokens"),
            )
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        is_agent = "agents" in one.path.parts[-3:]
        fields = {
            "source": "subagent" if is_agent else NAME,
            "parent_session_id": one.parent or None,
            "title": as_text(meta.get("title")) or make_title(next(prompts, "")),
            "cwd": as_text(as_mapping(meta.get("environment")).get("working_directory")),
            "git_branch": as_text(meta.get("git_branch")),
            "model": model,
            "started_at": started,
        }
        if meta:
            about = {key: value for key, value in meta.items() if key not in ("tools_available", "config")}
            builder.add_record("meta", to_json(about))
        return builder.build(one.native_id, fields, file)


def _add_message(builder: TranscriptBuilder, line: str, record: dict[str, Any], models: list[str]) -> None:
    role, pieces = str(record.get("role") or ""), MessagePieces()
    own = as_text(record.get("message_id")) or line
    if role == "tool":
        pieces.add_output(record.get("tool_call_id"), record.get("content"))
    else:
        pieces.parts = [part for part in as_parts(record.get("content")) if isinstance(part, dict)]
        pieces.add_thought(record.get("reasoning_content"))
        add_openai_calls(pieces, record.get("tool_calls"))
    if role == "assistant" and (model := as_text(record.get("model"))):
        models.append(model)
    known = role if role in ("user", "assistant", "tool") and not record.get("injected") else "system"
    if role not in ("user", "assistant", "tool", "system"):
        builder.add_unknown(role or str(record.get("type") or "line"), to_json(record))
    elif not pieces.add_to(builder, known, own, to_seconds(record.get("timestamp")), **list_extra(record, _KNOWN)):
        builder.add_record(role, to_json(record))


plugin = Plugin(name=NAME, summary="Imports the history of Mistral Vibe.", sources=[MistralVibeImporter])
