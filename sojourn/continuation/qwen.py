"""Qwen Code: one file of JSON lines, in the folder of the project; every record names its parent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from sojourn.continuation.conversation import Entry, PastCall, PastConversation
from sojourn.continuation.native_session import NativeSession, to_iso, to_json_lines
from sojourn.core.settings import Settings

_VERSION = "0.24.0"  # the oldest whose sessions look like this


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    home, native = settings.user_home / ".qwen", str(uuid4())
    project = re.sub(r"[^A-Za-z0-9]", "-", conversation.folder)
    records, before = list[dict[str, Any]](), None
    for entry in conversation.entries:
        for fields in _list_records(entry, conversation.model):
            own = str(uuid4())
            shared = {"uuid": own, "parentUuid": before, "sessionId": native, "timestamp": to_iso(entry.at)}
            records.append({**shared, "cwd": conversation.folder, "version": _VERSION, **fields})
            before = own
    return NativeSession(
        native_id=native,
        home=home,
        folder=conversation.folder,
        files={home / "projects" / project / "chats" / f"{native}.jsonl": to_json_lines(records)},
    )


def _list_records(entry: Entry, model: str) -> Iterator[dict[str, Any]]:
    if entry.is_user:
        message = {"role": "user", "parts": [{"text": entry.text}]}
        yield {"type": "user", "provenance": "real_user", "message": message}
        return
    parts: list[dict[str, Any]] = [{"text": entry.thought, "thought": True}] if entry.thought else []
    parts += [{"text": entry.text}] if entry.text else []
    parts += [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in entry.calls]
    message = {"role": "model", "parts": parts}
    yield {"type": "assistant", "provenance": "assistant_output", "model": model or "unknown", "message": message}
    for call in entry.calls:
        status = "error" if call.is_error else "success"
        yield {
            "type": "tool_result",
            "provenance": "tool_result",
            "message": {"role": "user", "parts": [to_response(call)]},
            "toolCallResult": {"callId": call.id, "status": status, "resultDisplay": call.result},
        }


def to_response(call: PastCall) -> dict[str, Any]:
    """The result of a call in Google's form."""
    key = "error" if call.is_error else "output"
    return {"functionResponse": {"id": call.id, "name": call.name, "response": {key: call.result}}}
