"""Adds rows of opencode 2.x and of the newer interface of 1.18: one row is one message, with its role in `type`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.core.messages import Message
from sojourn.importers.opencode.rows import MessageRow, SessionBuilder, get_created_at, get_error_text
from sojourn.importers.transcript_builder import as_list, as_mapping, as_parts, as_text, to_content, to_extra, to_json

_PROMPT = ("time", "text", "files", "sessionID")


def add_rows(into: SessionBuilder, rows: Sequence[MessageRow]) -> None:
    """Adds rows in the order of `seq`; those without content (such as a model switch) are stored as records."""
    for number, row in enumerate(rows, 1):
        data = into.parse_row(row.data, "message", row.id)
        if data is None:
            continue
        if row.kind == "assistant":
            if not into.is_unfinished(row, data, last=number == len(rows)):
                _add_answer(into, row, data)
        elif row.kind == "compaction":
            _add_compaction(into, row, data)
        elif not _add_message(into, row, data):
            into.builder.add_record(row.kind or "message", row.data)


def _add_answer(into: SessionBuilder, row: MessageRow, data: dict[str, Any]) -> None:
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
    said = [*as_parts(text), *as_list(files)]
    if said:
        into.builder.add(
            Message(
                role="user" if row.kind == "user" else "system",
                native_id=row.id,
                timestamp=get_created_at(data, row),
                extra=to_extra(data, (*_PROMPT, "command", "output")),
                **to_content(said),
            )
        )
    return bool(said)


def _add_compaction(into: SessionBuilder, row: MessageRow, data: dict[str, Any]) -> None:
    """Adds the summary of a completed compaction. `recent` repeats messages that stayed in the context."""
    summary = as_text(data.get("summary"))
    if data.get("status", "completed") == "completed" and summary:
        into.builder.mark_compacted()
        into.builder.add(
            Message(
                role="system",
                native_id=row.id,
                timestamp=get_created_at(data, row),
                content=summary,
                extra=to_extra(data, ("time", "summary", "sessionID")),
            )
        )
    else:
        into.builder.add_record("compaction", row.data)
