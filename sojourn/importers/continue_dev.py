"""Continue: one JSON document for each session under `~/.continue/sessions/`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_document
from sojourn.importers.message_pieces import MessagePieces, add_openai_calls, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "continue"
_INDEX = "sessions.json"
_PLACEHOLDERS = (None, "Untitled Session", "New Session")
_ROLES = ("user", "assistant", "tool")
_KNOWN = ("role", "content", "toolCalls", "toolCallId", "usage", "id")


class ContinueImporter(FileImporter):
    """Imports sessions of Continue."""

    name, label = NAME, "Continue"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("CONTINUE_GLOBAL_DIR") or user_home / ".continue")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.parent.name == "sessions" and home.parent.parent.name == ".continue" else []
        else:
            root = home / "sessions"
            found = sorted(root.glob("*.json")) if (root / _INDEX).is_file() else []
        yield from (inspect_file(path.stem, path) for path in found if path.name != _INDEX and path.suffix == ".json")

    def read_session(self, one: StoredSession) -> Transcript:
        document = as_mapping(read_document(one.path))
        if not isinstance(document.get("history"), list):
            raise TypeError("its messages are not a list")
        models: dict[str, None] = {}
        started = _find_start(one) or one.began  # the program writes no times of messages
        builder = TranscriptBuilder(started)
        for number, item in enumerate(map(as_mapping, document["history"]), 1):
            _add_item(builder, str(number), item, models)
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        title = as_text(document.get("title"))
        fields = {
            "source": NAME,
            "title": make_title(next(prompts, "")) if title in _PLACEHOLDERS else title,
            "cwd": as_text(document.get("workspaceDirectory")),
            "model": as_text(document.get("chatModelTitle")) or next(iter(models), None),
            "started_at": started,
        }
        builder.add_record("session", to_json({key: document[key] for key in document if key != "history"}))
        return builder.build(one.native_id, fields)


def _find_start(one: StoredSession) -> float:
    """When the session was begun, by the list beside it: milliseconds as a text."""
    listed = as_list(read_document(one.path.with_name(_INDEX)))
    entry = next((item for item in map(as_mapping, listed) if item.get("sessionId") == one.native_id), {})
    date = str(entry.get("dateCreated") or "")
    return int(date) / 1000 if date.isdecimal() and len(date) < 16 else to_seconds(date)


def _add_item(builder: TranscriptBuilder, native: str, item: dict[str, Any], models: dict[str, None]) -> None:
    message, pieces = as_mapping(item.get("message")), MessagePieces()
    role = str(message.get("role") or "")
    if role == "tool":
        pieces.add_output(message.get("toolCallId"), message.get("content"))
    elif role == "thinking":
        for part in as_parts(message.get("content")):
            pieces.add_thought(as_mapping(part).get("text"))
    else:
        pieces.parts = [part for part in as_parts(message.get("content")) if isinstance(part, dict)]
    add_openai_calls(pieces, message.get("toolCalls"))
    for state in map(as_mapping, as_list(item.get("toolCallStates"))):
        output = [text for one in as_list(state.get("output")) if (text := as_text(as_mapping(one).get("content")))]
        is_error = state.get("status") in ("errored", "canceled")
        if output or is_error:
            pieces.add_output(state.get("toolCallId"), "\n".join(output), is_error=is_error)
    for context in map(as_mapping, as_list(item.get("contextItems"))):
        pieces.parts.append({"type": "context", **context, "text": as_text(context.get("content")) or ""})
    known = role if role in _ROLES else "assistant" if role == "thinking" else "system"
    if not pieces.add_to(builder, known, native, 0.0, **list_extra(message, _KNOWN)):
        builder.add_unknown(role or "item", to_json(item))
    usage = as_mapping(message.get("usage"))
    if usage:
        model = as_text(usage.get("model")) or ""
        models |= {model: None} if model else {}
        builder.usage.add(
            model,
            input_tokens=usage.get(
                "promptTokens", usage.get("prompt_tokens")
            ),  # of the editor, of the terminal program
            output_tokens=usage.get("completionTokens", usage.get("completion_tokens")),
        )


plugin = Plugin(name=NAME, summary="Imports the history of Continue.", sources=[ContinueImporter])
