"""Adds the messages of opencode: the rows of 1.x, which stores parts as separate rows, and those of 2.x.

2.x, and the newer interface of 1.18, store a message with all its content in one row, and its role in `type`.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from sojourn.importers.opencode.rows import MessageRow, SessionBuilder, get_created_at, get_error_text
from sojourn.importers.transcript_builder import (
    as_list,
    as_mapping,
    as_parts,
    as_text,
    join_lines,
    to_content,
    to_extra,
    to_json,
    to_text_part,
)

_PROMPT_V1 = ("role", "time", "id", "sessionID", "agent", "model", "summary", "tools")
_MESSAGE_V2 = ("time", "text", "files", "sessionID", "command", "output")
_PROMPTED = ("text", "file", "subtask")
_ANSWERED = ("text", "reasoning", "tool")


def add_v1_rows(into: SessionBuilder, rows: Sequence[MessageRow]) -> None:
    """Adds messages in order. A compaction is a prompt without text and an answer with the summary."""
    compactions: set[str] = set()
    for number, row in enumerate(rows, 1):
        data = into.parse_row(row.data, "message", row.id)
        if data is None:
            continue
        if data.get("role") != "assistant":
            parts = _parse_parts(into, row, _PROMPTED)
            if any(part.get("type") == "compaction" for part in parts):
                compactions.add(row.id)
            _add_prompt(into, row, data, parts)
        elif not into.is_unfinished(row, data, last=number == len(rows)):
            _add_v1_answer(into, row, data, _parse_parts(into, row, _ANSWERED), compactions)


def _parse_parts(into: SessionBuilder, row: MessageRow, known: Container[str]) -> list[dict[str, Any]]:
    """Parses the parts of a message; those without content are stored as records too."""
    found = []
    for own, text in row.parts:
        part = into.parse_row(text, "part", own)
        if part is None:
            continue
        found.append(part)
        if part.get("type") not in known:
            into.builder.add_record(f"part:{part.get('type')}", text)
    return found


def _add_prompt(into: SessionBuilder, row: MessageRow, data: dict[str, Any], parts: list[dict[str, Any]]) -> None:
    """Adds the text and files of the person, then the text that opencode added to the prompt."""
    typed = [_to_content_part(part) for part in parts if part.get("type") in ("text", "file") and not _is_added(part)]
    added = [_to_content_part(part) for part in parts if _is_added(part)]
    model = as_mapping(data.get("model"))
    into.model = as_text(model.get("modelID")) or into.model
    into.provider = as_text(model.get("providerID")) or into.provider
    own, extra = row.id, to_extra(data, _PROMPT_V1)
    for role, content in (("user", typed), ("system", added)):
        if content:
            into.builder.add(role, own, get_created_at(data, row), extra=extra, **to_content(content))
            own, extra = f"{row.id}:added", None
    if not typed and not added:
        into.builder.add_record("message", row.data)


def _is_added(part: dict[str, Any]) -> bool:
    return bool(part.get("synthetic") or part.get("ignored")) or part.get("type") == "subtask"


def _to_content_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return to_text_part(str(part.get("text") or ""))
    if part.get("type") == "subtask":
        return to_text_part(str(part.get("prompt") or ""))
    return {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}


def _add_v1_answer(
    into: SessionBuilder, row: MessageRow, data: dict[str, Any], parts: list[dict[str, Any]], compactions: set[str]
) -> None:
    into.add_usage(data, data.get("modelID"), data.get("providerID"))
    shown = [part for part in parts if part.get("type") in _ANSWERED]
    if data.get("summary") is True and str(data.get("parentID")) in compactions:
        summary = join_lines(part.get("text") for part in shown if part["type"] == "text")
        if summary and not data.get("error"):
            into.builder.mark_compacted()
            into.builder.add("system", data["parentID"], get_created_at(data, row), content=summary)
            return
    into.add_answer(row, data, shown)
    if not shown and not data.get("error"):
        into.builder.add_record("message", row.data)


def add_v2_rows(into: SessionBuilder, rows: Sequence[MessageRow]) -> None:
    """Adds rows in the order of `seq`; those without content (such as a model switch) are stored as records."""
    for number, row in enumerate(rows, 1):
        data = into.parse_row(row.data, "message", row.id)
        if data is None:
            continue
        if row.kind == "assistant":
            if not into.is_unfinished(row, data, last=number == len(rows)):
                _add_v2_answer(into, row, data)
        elif row.kind == "compaction":
            _add_compaction(into, row, data)
        elif not _add_message(into, row, data):
            into.builder.add_record(row.kind or "message", row.data)


def _add_v2_answer(into: SessionBuilder, row: MessageRow, data: dict[str, Any]) -> None:
    model, parts = as_mapping(data.get("model")), data.get("content")
    into.add_usage(data, model.get("id"), model.get("providerID"))
    found = [part for part in as_list(parts) if isinstance(part, dict)]
    shown = [part for part in found if part.get("type") in ("text", "reasoning", "tool")]
    into.add_answer(row, data, shown)
    if len(shown) < len(found) or (not shown and not get_error_text(data.get("error"))):
        into.builder.add_record("assistant", row.data)


def _add_message(into: SessionBuilder, row: MessageRow, data: dict[str, Any]) -> bool:
    """Adds a prompt, a notice of opencode or a shell command of the person; returns False without content."""
    text, files = as_text(data.get("text")), data.get("files")
    if row.kind == "shell":
        output = data.get("output")
        text = f"$ {data.get('command')}\n{output if isinstance(output, str) else to_json(output or '')}"
    content = [*as_parts(text), *as_list(files)]
    if content:
        role, extra = "user" if row.kind == "user" else "system", to_extra(data, _MESSAGE_V2)
        into.builder.add(role, row.id, get_created_at(data, row), extra=extra, **to_content(content))
    return bool(content)


def _add_compaction(into: SessionBuilder, row: MessageRow, data: dict[str, Any]) -> None:
    """Adds the summary of a completed compaction. `recent` repeats messages that stayed in the context."""
    summary = as_text(data.get("summary"))
    if data.get("status", "completed") == "completed" and summary:
        into.builder.mark_compacted()
        extra = to_extra(data, ("time", "summary", "sessionID"))
        into.builder.add("system", row.id, get_created_at(data, row), content=summary, extra=extra)
    else:
        into.builder.add_record("compaction", row.data)
