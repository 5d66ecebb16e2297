"""Claude Code: one file of JSON lines, in the folder of the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from sojourn.continuation.conversation import Entry, PastConversation
from sojourn.continuation.native_session import NativeSession, to_iso, to_json_lines
from sojourn.core.settings import Settings

_VERSION = "2.1.0"  # the oldest whose sessions look like this
_NO_USAGE = {"input_tokens": 0, "output_tokens": 0}


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    home = Path(settings.places.get("CLAUDE_CONFIG_DIR") or settings.user_home / ".claude")
    native = str(uuid4())
    project = re.sub(r"[^A-Za-z0-9]", "-", conversation.folder)
    shared = {
        "isSidechain": False,
        "userType": "external",
        "cwd": conversation.folder,
        "sessionId": native,
        "version": _VERSION,
    }
    records, before = list[dict[str, Any]](), None
    for entry in conversation.entries:
        for kind, message in _list_messages(entry, conversation.model):
            own = str(uuid4())
            stamp = {"uuid": own, "timestamp": to_iso(entry.at)}
            records.append({"parentUuid": before, **shared, "type": kind, "message": message, **stamp})
            before = own
    if conversation.title:
        records.append({"type": "custom-title", "customTitle": conversation.title, "sessionId": native})
    return NativeSession(
        native_id=native,
        home=home,
        folder=conversation.folder,
        files={home / "projects" / project / f"{native}.jsonl": to_json_lines(records)},
    )


def _list_messages(entry: Entry, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The messages of an entry. A thought is left out: the model accepts only those that its provider signed."""
    if entry.is_user:
        yield "user", {"role": "user", "content": entry.text}
        return
    blocks: list[dict[str, Any]] = [{"type": "text", "text": entry.text}] if entry.text.strip() else []
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in entry.calls]
    if not blocks:
        return
    yield (
        "assistant",
        {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "model": model or "unknown",
            "content": blocks,
            "stop_reason": "tool_use" if entry.calls else "end_turn",
            "stop_sequence": None,
            "usage": _NO_USAGE,
        },
    )
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": call.result, "is_error": call.is_error}
        for call in entry.calls
    ]
    if results:
        yield "user", {"role": "user", "content": results}
