"""Copilot CLI: events as JSON lines, `~/.copilot/session-state/<folder>/events.jsonl`; formerly one flat file each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_start
from sojourn.importers.jsonl import JsonLine, JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    make_title,
    to_count,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "copilot"
_SESSION = re.compile(rb'"sessionId":\s*"([^"]+)"')
_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadTokens",
    "cache_write_tokens": "cacheWriteTokens",
    "reasoning_tokens": "reasoningTokens",
}
# Events that are understood, or repeat others: kept as they are, and not reported.
_QUIET = (
    *("session.start", "session.resume", "session.model_change", "session.shutdown", "session.info", "session.idle"),
    *("assistant.turn_start", "assistant.turn_end", "tool.execution_start", "session.title_changed"),
)


class CopilotImporter(FileImporter):
    """Imports sessions of Copilot CLI."""

    name, label = NAME, "Copilot CLI"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("COPILOT_HOME") or user_home / ".copilot")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name == "events.jsonl" else []
        else:
            root = home if home.name == "session-state" else home / "session-state"
            found = sorted((*root.glob("*/events.jsonl"), *root.glob("*.jsonl")))
        for path in found:
            name = path.parent.name if path.name == "events.jsonl" else path.stem
            yield inspect_file(read_start(path, _SESSION) or name, path)

    def read_session(self, one: StoredSession) -> Transcript:
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        facts: dict[str, Any] = {"source": NAME, "started_at": 0.0}
        for line in file:
            facts["started_at"] = facts["started_at"] or to_seconds(line.record.get("timestamp"))
            _add_event(builder, facts, line)
        for model, metrics in as_mapping(facts.pop("metrics", None)).items():
            usage = as_mapping(as_mapping(metrics).get("usage"))
            counts: dict[str, Any] = {ours: to_count(usage.get(theirs)) for ours, theirs in _TOKENS.items()}
            builder.usage.add(model, **counts)
        if not builder.usage.fields():  # it was not closed: only the answers say what they took
            for model, tokens in facts.get("answers", ()):
                builder.usage.add(model, output_tokens=tokens)
        facts.pop("answers", None)
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        facts["title"] = facts.get("title") or make_title(next(prompts, ""))
        return builder.build(one.native_id, facts, file)


def _add_event(builder: TranscriptBuilder, facts: dict[str, Any], line: JsonLine) -> None:
    record, kind = line.record, str(line.record.get("type") or "event")
    data, when = as_mapping(record.get("data")), to_seconds(record.get("timestamp"))
    native, pieces = as_text(record.get("id")) or f"line-{line.number}", MessagePieces()
    if kind == "user.message":
        pieces.add_text(data.get("content"))
        is_typed = as_text(data.get("source")) in (None, "user")
        pieces.add_to(builder, "user" if is_typed else "system", native, when, **_list_rest(data, "content"))
    elif kind == "assistant.message":
        pieces.add_text(data.get("content"))
        pieces.add_thought(data.get("reasoningText"))
        for call in map(as_mapping, as_list(data.get("toolRequests"))):
            pieces.add_call(call.get("toolCallId"), call.get("name"), call.get("arguments"))
        pieces.add_to(
            builder, "assistant", native, when, **_list_rest(data, "content", "reasoningText", "toolRequests")
        )
        facts.setdefault("answers", []).append((facts.get("model") or "", data.get("outputTokens")))
    elif kind == "tool.execution_complete":
        result = as_mapping(data.get("result"))
        error = as_mapping(data.get("error")).get("message") or as_text(data.get("error"))
        said = error if error and not result else result.get("content", data.get("result"))
        pieces.add_output(data.get("toolCallId"), said, is_error=data.get("success") is False)
        pieces.add_to(builder, "tool", native, when)
    else:
        _note_session(facts, kind, data)
        add = builder.add_record if kind in _QUIET else builder.add_unknown
        add(kind, line.text)


def _note_session(facts: dict[str, Any], kind: str, data: dict[str, Any]) -> None:
    context = as_mapping(data.get("context"))
    model = as_text(data.get("newModel")) or as_text(data.get("selectedModel"))
    found = {"cwd": context.get("cwd"), "git_branch": context.get("branch"), "model": model, "title": data.get("title")}
    facts |= {key: value for key, value in found.items() if as_text(value)}
    if kind == "session.shutdown":
        facts["metrics"] = data.get("modelMetrics")


def _list_rest(data: dict[str, Any], *known: str) -> dict[str, Any]:
    return list_extra(data, (*known, "source", "outputTokens", "messageId", "interactionId"))


plugin = Plugin(name=NAME, summary="Imports the history of Copilot CLI.", sources=[CopilotImporter])
