"""Second generation, 2.x and the newer interface of 1.18: one row is one message, its `type` says whose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.core.messages import Message
from sojourn.importers.opencode.rows import Gathering, Row, error_text, said_at
from sojourn.importers.transcript_builder import as_json, content, mapping, nonempty, rest

_PROMPT = ("time", "text", "files", "sessionID")


def add(into: Gathering, rows: Sequence[Row]) -> None:
    """Rows in the order of their `seq`; those that say nothing (a model was switched …) are kept beside."""
    for number, row in enumerate(rows, 1):
        data = into.object_in(row.data, "message", row.id)
        if data is None:
            continue
        if row.kind == "assistant":
            if not into.is_left(row, data, last=number == len(rows)):
                _answer(into, row, data)
        elif row.kind == "compaction":
            _compaction(into, row, data)
        elif not _said(into, row, data):
            into.talk.keep(row.kind or "message", row.data)


def _answer(into: Gathering, row: Row, data: dict[str, Any]) -> None:
    model, parts = mapping(data.get("model")), data.get("content")
    into.spend(data, model.get("id"), model.get("providerID"))
    found = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    shown = [part for part in found if part.get("type") in ("text", "reasoning", "tool")]
    into.answer(row, data, shown)
    if len(shown) < len(found) or (not shown and not error_text(data.get("error"))):
        into.talk.keep("assistant", row.data)


def _said(into: Gathering, row: Row, data: dict[str, Any]) -> bool:
    """A prompt, something opencode said in its own name, or a command the person ran in the shell."""
    text, files = nonempty(data.get("text")), data.get("files")
    if row.kind == "shell":
        output = data.get("output")
        text = f"$ {data.get('command')}\n{output if isinstance(output, str) else as_json(output or '')}"
    attached = files if isinstance(files, list) else []
    said = [*([{"type": "text", "text": text}] if text else []), *attached]
    if said:
        into.talk.add(
            Message(
                role="user" if row.kind == "user" else "system",
                native_id=row.id,
                timestamp=said_at(data, row),
                extra=rest(data, (*_PROMPT, "command", "output")),
                **content(said),
            )
        )
    return bool(said)


def _compaction(into: Gathering, row: Row, data: dict[str, Any]) -> None:
    """Only one that was carried out sums anything up; `recent` is what the model still sees, as text."""
    summary = nonempty(data.get("summary"))
    if data.get("status", "completed") == "completed" and summary:
        into.talk.summarised()
        into.talk.add(
            Message(
                role="system",
                native_id=row.id,
                timestamp=said_at(data, row),
                content=summary,
                extra=rest(data, ("time", "summary", "sessionID")),
            )
        )
    else:
        into.talk.keep("compaction", row.data)
