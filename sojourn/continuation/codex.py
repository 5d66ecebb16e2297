"""Codex: one rollout, a file of JSON lines under the day it began."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sojourn.continuation.conversation import Entry, PastConversation
from sojourn.continuation.native_session import NativeSession, to_iso, to_json_lines
from sojourn.core.settings import Settings

_VERSION = "0.120.0"  # the oldest whose sessions look like this


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    home = Path(settings.places.get("CODEX_HOME") or settings.user_home / ".codex")
    native, start = str(uuid4()), conversation.started_at
    meta = {
        "session_id": native,
        "id": native,
        "timestamp": to_iso(start),
        "cwd": conversation.folder,
        "originator": "sojourn",
        "cli_version": _VERSION,
        "source": "cli",
        "thread_source": "user",
    }
    records = [{"timestamp": to_iso(start), "type": "session_meta", "payload": meta}]
    for entry in conversation.entries:
        when = to_iso(entry.at or start)
        records += [{"timestamp": when, "type": kind, "payload": payload} for kind, payload in _list_items(entry)]
    began = datetime.fromtimestamp(start).astimezone()
    name = f"rollout-{began:%Y-%m-%dT%H-%M-%S}-{native}.jsonl"
    return NativeSession(
        native_id=native,
        home=home,
        folder=conversation.folder,
        files={home / "sessions" / f"{began:%Y/%m/%d}" / name: to_json_lines(records)},
    )


def _list_items(entry: Entry) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the model is given, and what the terminal shows. Thoughts are left out: Codex' own are encrypted."""
    if entry.text:
        role, kind = ("user", "input_text") if entry.is_user else ("assistant", "output_text")
        content = [{"type": kind, "text": entry.text}]
        yield "response_item", {"type": "message", "role": role, "content": content}
        shown = "user_message" if entry.is_user else "agent_message"
        yield "event_msg", {"type": shown, "message": entry.text}
    for call in entry.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield (
            "response_item",
            {"type": "function_call", "name": call.name, "arguments": arguments, "call_id": call.id},
        )
    for call in entry.calls:
        yield "response_item", {"type": "function_call_output", "call_id": call.id, "output": call.result}
