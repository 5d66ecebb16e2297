"""Gemini CLI: one file of JSON lines, in the folder that the program keeps for a project."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from sojourn.continuation.conversation import Entry, PastConversation
from sojourn.continuation.native_session import NativeSession, to_iso, to_json_lines
from sojourn.continuation.qwen import to_response
from sojourn.core.settings import Settings

_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    home = Path(settings.places.get("GEMINI_CLI_HOME") or settings.user_home) / ".gemini"
    native = str(uuid4())
    start, end = conversation.started_at, max((entry.at for entry in conversation.entries), default=0.0)
    head = {
        "sessionId": native,
        "projectHash": hashlib.sha256(conversation.folder.encode()).hexdigest(),
        "startTime": to_iso(start),
        "lastUpdated": to_iso(end),
        "kind": "main",
    }
    records = [head, *(one for entry in conversation.entries for one in _list_records(entry, conversation.model))]
    project = _find_project(home, conversation.folder)
    name = f"session-{to_iso(start)[:16].replace(':', '-')}-{native[:8]}.jsonl"
    files = {project / "chats" / name: to_json_lines(records)}
    if not (project / ".project_root").exists():
        files[project / ".project_root"] = conversation.folder
    return NativeSession(native_id=native, home=home, folder=conversation.folder, files=files)


def _find_project(home: Path, folder: str) -> Path:
    """The folder of a project: the one it has, or one that the program will recognise by its `.project_root`."""
    try:
        known = json.loads((home / "projects.json").read_text("utf-8"))["projects"][folder]
    except (OSError, ValueError, KeyError, TypeError):
        known = None
    if isinstance(known, str) and _SLUG.fullmatch(known):
        return home / "tmp" / known
    for marker in sorted((home / "tmp").glob("*/.project_root")):
        if marker.read_text("utf-8", "replace").strip() == folder:
            return marker.parent
    slug = re.sub(r"[^a-z0-9]+", "-", Path(folder).name.lower()).strip("-") or "project"
    number, place = 0, home / "tmp" / slug
    while place.exists():
        number += 1
        place = home / "tmp" / f"{slug}-{number}"
    return place


def _list_records(entry: Entry, model: str) -> Iterator[dict[str, Any]]:
    when = to_iso(entry.at)
    if entry.is_user:
        yield {"id": str(uuid4()), "timestamp": when, "type": "user", "content": [{"text": entry.text}]}
        return
    thoughts = [{"subject": "", "description": entry.thought, "timestamp": when}] if entry.thought else []
    said = {"id": str(uuid4()), "timestamp": when, "type": "gemini", "content": entry.text, "thoughts": thoughts}
    if model:
        said["model"] = model
    if entry.calls:
        said["toolCalls"] = [
            {
                "id": call.id,
                "name": call.name,
                "args": call.arguments,
                "result": [to_response(call)],
                "status": "error" if call.is_error else "success",
                "timestamp": when,
                "resultDisplay": call.result,
                "displayName": call.name,
                "description": "",
            }
            for call in entry.calls
        ]
    yield said
