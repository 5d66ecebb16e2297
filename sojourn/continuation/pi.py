"""pi: one file of JSON lines, in the folder of the project; every entry names its parent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from sojourn.continuation.conversation import Entry, PastConversation
from sojourn.continuation.native_session import NativeSession, to_iso, to_json_lines
from sojourn.core.settings import Settings

_NO_COST = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "total"), 0)
_NO_USAGE = {**dict.fromkeys(("input", "output", "cacheRead", "cacheWrite", "totalTokens"), 0), "cost": _NO_COST}


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    base = Path(settings.places.get("PI_CODING_AGENT_DIR") or settings.user_home / ".pi" / "agent")
    home = Path(settings.places.get("PI_CODING_AGENT_SESSION_DIR") or base / "sessions")
    native, start = str(uuid4()), to_iso(conversation.started_at)
    records: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": native, "timestamp": start, "cwd": conversation.folder}
    ]
    before = None
    for entry in conversation.entries:
        for message in _list_messages(entry, conversation.model):
            own = uuid4().hex[:8]
            shared = {"type": "message", "id": own, "parentId": before, "timestamp": to_iso(entry.at)}
            records.append({**shared, "message": {**message, "timestamp": int(entry.at * 1000)}})
            before = own
    if conversation.title:
        info = {"type": "session_info", "id": uuid4().hex[:8], "parentId": before}
        records.append({**info, "timestamp": to_iso(conversation.entries[-1].at), "name": conversation.title})
    project = re.sub(r"[/:\\]", "-", conversation.folder.lstrip("/"))
    file = home / f"--{project}--" / f"{re.sub('[:.]', '-', start)}_{native}.jsonl"
    return NativeSession(native_id=native, home=home, folder=conversation.folder, files={file: to_json_lines(records)})


def _list_messages(entry: Entry, model: str) -> Iterator[dict[str, Any]]:
    if entry.is_user:
        yield {"role": "user", "content": [{"type": "text", "text": entry.text}]}
        return
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": entry.thought}] if entry.thought else []
    blocks += [{"type": "text", "text": entry.text}] if entry.text else []
    blocks += [
        {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments} for call in entry.calls
    ]
    yield {
        "role": "assistant",
        "content": blocks,
        "api": "openai-completions",
        "provider": "sojourn",
        "model": model or "unknown",
        "usage": _NO_USAGE,
        "stopReason": "toolUse" if entry.calls else "stop",
    }
    for call in entry.calls:
        yield {
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.name,
            "content": [{"type": "text", "text": call.result}],
            "isError": call.is_error,
        }
