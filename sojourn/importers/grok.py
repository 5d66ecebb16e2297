"""Grok Build: `~/.grok/sessions/<folder>/<id>/` with `summary.json`, `chat_history.jsonl` and `updates.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_side_document
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    make_title,
    to_count,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "grok"
_HISTORY, _SUMMARY, _UPDATES = "chat_history.jsonl", "summary.json", "updates.jsonl"
_TYPED = (None, "", "interjection")
_KNOWN = (
    *("type", "role", "content", "synthetic_reason", "tool_calls", "model_id", "tool_call_id", "reasoning", "id"),
    *("summary", "encrypted_content", "status", "prompt_index"),
)


class GrokImporter(FileImporter):
    """Imports sessions of Grok Build."""

    name, label = NAME, "Grok Build"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("GROK_HOME") or user_home / ".grok")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name == _HISTORY and home.with_name(_SUMMARY).is_file() else []
        else:
            found = sorted((home if home.name == "sessions" else home / "sessions").glob(f"*/*/{_HISTORY}"))
        for path in found:
            summary = read_side_document(path.with_name(_SUMMARY))
            own = as_text(as_mapping(summary.get("info")).get("id")) or path.parent.name
            parent = as_text(summary.get("parent_session_id")) or ""
            yield inspect_file(own, path, path.with_name(_SUMMARY), path.with_name(_UPDATES), parent=parent)

    def read_session(self, one: StoredSession) -> Transcript:
        summary = read_side_document(one.path.with_name(_SUMMARY))
        info = as_mapping(summary.get("info"))
        started = to_seconds(summary.get("created_at")) or to_seconds(info.get("created_at")) or one.began
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(started)
        times, model = _read_updates(one.path.with_name(_UPDATES), builder), None
        for line in file:
            model = _add_line(builder, line.number, line.record, times) or model
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        title = as_text(summary.get("generated_title")) or as_text(summary.get("session_summary"))
        is_helper = str(summary.get("session_kind") or "").startswith("subagent")
        fields = {
            "source": "subagent" if is_helper else NAME,
            "parent_session_id": one.parent or None,
            "title": title or make_title(next(prompts, "")),
            "cwd": as_text(info.get("cwd")) or _decode_folder(one.path.parents[1].name),
            "git_branch": as_text(summary.get("head_branch")),
            "model": model or as_text(summary.get("current_model_id")),
            "started_at": started,
        }
        if summary:
            builder.add_record("summary", to_json(summary))
        return builder.build(one.native_id, fields, file)


def _decode_folder(name: str) -> str | None:
    path = unquote(name)
    return path if path.startswith("/") or path[1:3] in (":\\", ":/") else None


def _add_line(builder: TranscriptBuilder, number: int, record: dict[str, Any], times: dict[str, float]) -> str | None:
    """Adds a line; returns the model that answered."""
    kind, own, pieces = str(record.get("type") or record.get("role") or ""), f"line-{number}", MessagePieces()
    role, when = {"user": "user", "assistant": "assistant", "reasoning": "assistant"}.get(kind, "system"), 0.0
    if kind == "tool_result":
        own_call = as_text(record.get("tool_call_id")) or ""
        when = times.get(f"{own_call}:result", 0.0)
        pieces.add_output(own_call, record.get("content"))
    elif kind == "backend_tool_call":
        call = as_mapping(record.get("tool_call")) or as_mapping(record.get("kind")) or record
        pieces.add_call(call.get("id") or own, call.get("name") or call.get("type"), call.get("arguments"))
        role = "assistant"
    elif kind == "reasoning":
        for part in as_parts(record.get("summary") or record.get("content") or record.get("text")):
            pieces.add_thought(as_mapping(part).get("text"))
    elif kind in ("user", "assistant", "system"):
        pieces.parts = [part for part in as_parts(record.get("content")) if isinstance(part, dict)]
        pieces.add_thought(as_mapping(record.get("reasoning")).get("text") or record.get("reasoning"))
        for call in map(as_mapping, as_list(record.get("tool_calls"))):
            function = as_mapping(call.get("function")) or call
            pieces.add_call(call.get("id"), function.get("name"), function.get("arguments"))
            when = when or times.get(str(call.get("id")), 0.0)
        if kind == "user" and record.get("synthetic_reason") not in _TYPED:
            role = "system"
        when = when or (times.get(f"text:{_squeeze(pieces)}", 0.0) if role == "user" else 0.0)
    else:
        builder.add_unknown(kind or "line", to_json(record))
        return None
    if not pieces.add_to(builder, role, own, when, **list_extra(record, _KNOWN)):
        builder.add_record(kind, to_json(record))
    return as_text(record.get("model_id"))


def _squeeze(pieces: MessagePieces) -> str:
    return "".join("".join(pieces.list_texts()).split())[:200]


def _read_updates(path: Path, builder: TranscriptBuilder) -> dict[str, float]:
    """The moments of calls, results and prompts, which the history lacks; adds the usage of each turn."""
    times: dict[str, float] = {}
    used: dict[str, dict[str, Any]] = {}
    if not path.is_file():
        return times
    file, typed = JsonLinesFile(path), ""
    try:
        for line in file:
            update = as_mapping(as_mapping(line.record.get("params")).get("update"))
            kind, when = str(update.get("sessionUpdate") or ""), to_seconds(line.record.get("timestamp"))
            if kind == "user_message_chunk":
                typed += "".join((as_text(as_mapping(update.get("content")).get("text")) or "").split())
                times.setdefault(f"text:{typed[:200]}", when)
            else:
                typed = ""
            if (own := as_text(update.get("toolCallId"))) is not None:
                times.setdefault(own, when)
                if update.get("status") in ("completed", "failed"):
                    times.setdefault(f"{own}:result", when)
            if usage := as_mapping(update.get("usage")):
                used[as_text(update.get("prompt_id")) or f"line-{line.number}"] = usage  # a retry says it again
    except SourceUnreadable as error:
        builder.warnings.append(str(error))
    for usage in used.values():
        by_model = as_mapping(usage.get("modelUsage")) or {"": usage}
        for model, row in by_model.items():
            _add_usage(builder, model, as_mapping(row))
    return times


def _add_usage(builder: TranscriptBuilder, model: str, row: dict[str, Any]) -> None:
    used, cached, ticks = (
        to_count(row.get("inputTokens")),
        to_count(row.get("cachedReadTokens")),
        row.get("costUsdTicks"),
    )
    builder.usage.add(
        model,
        cost=ticks / 1e10 if isinstance(ticks, int) and not isinstance(ticks, bool) else None,
        input_tokens=max(used - cached, 0),
        output_tokens=row.get("outputTokens"),
        cache_read_tokens=cached,
        reasoning_tokens=row.get("reasoningTokens"),
    )


plugin = Plugin(name=NAME, summary="Imports the history of Grok Build.", sources=[GrokImporter])
