"""LibreChat: an exported conversation, one JSON document, whose messages are a flat list or nested in `children`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_document, read_start
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.message_tree import order_tree
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "librechat"
_ID = re.compile(rb'"conversationId":\s*"([^"]+)"')
_EXPORTED = re.compile(rb'\A\s*\{[^\0]*?"(exportAt)":')
_KNOWN = (
    *("messageId", "parentMessageId", "conversationId", "sender", "text", "content", "isCreatedByUser", "createdAt"),
    *("updatedAt", "model", "endpoint", "children", "files", "tokenCount", "__v", "_id", "user", "depth"),
    "siblingIndex",
)


class LibreChatImporter(FileImporter):
    """Imports exported conversations of LibreChat."""

    name, label = NAME, "LibreChat export"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return []

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        found = [home] if home.is_file() else sorted(home.glob("*.json"))
        for path in found:
            if path.suffix == ".json" and (own := _find_id(path)):
                yield inspect_file(own, path)

    def read_session(self, one: StoredSession) -> Transcript:
        document = as_mapping(read_document(one.path))
        if not isinstance(document.get("messages"), list):
            raise TypeError("its messages are not a list")
        messages: dict[str, dict[str, Any]] = {}
        parents: dict[str, str | None] = {}
        for message, parent in _flatten(document["messages"]):
            own = as_text(message.get("messageId")) or f"message-{len(messages) + 1}"
            messages[own] = message
            parents[own] = as_text(message.get("parentMessageId")) or parent
        builder, models = TranscriptBuilder(one.began), list[str]()
        for own, is_active in order_tree(parents, None):
            start = len(builder.messages)
            _add_message(builder, own, messages[own], models)
            if not is_active:
                builder.mark_undone(start)
        options = as_mapping(document.get("options"))
        fields = {
            "source": NAME,
            "title": as_text(document.get("title")),
            "model": models[-1] if models else as_text(options.get("model")),
            "billing_provider": as_text(document.get("endpoint")),
            "started_at": builder.messages[0].timestamp if builder.messages else one.began,
        }
        about = {key: value for key, value in document.items() if key not in ("messages", "messagesTree")}
        builder.add_record("conversation", to_json(about))
        return builder.build(one.native_id, fields)


def _find_id(path: Path) -> str | None:
    """The id that an export names in its beginning; None if the file is none."""
    return (read_start(path, _ID) or None) if read_start(path, _EXPORTED) else None


def _flatten(listed: list[Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Each message with the id of the one it stands in, parents first; without recursion."""
    waiting: list[tuple[Any, str | None]] = [(one, None) for one in reversed(listed)]
    while waiting:
        one, parent = waiting.pop()
        message = as_mapping(one)
        yield message, parent
        own = as_text(message.get("messageId"))
        waiting += [(child, own) for child in reversed(as_list(message.get("children")))]


def _add_message(builder: TranscriptBuilder, own: str, message: dict[str, Any], models: list[str]) -> None:
    is_user, pieces = message.get("isCreatedByUser") is True, MessagePieces()
    for part in map(as_mapping, as_list(message.get("content"))):
        _sort_part(pieces, part)
    if not (pieces.parts or pieces.calls):
        pieces.add_text(message.get("text"))
    pieces.parts += [{"type": "file", **as_mapping(one)} for one in as_list(message.get("files"))]
    if not is_user and (model := as_text(message.get("model"))):
        models.append(model)
    role = "user" if is_user else "system" if message.get("error") is True else "assistant"
    if not pieces.add_to(builder, role, own, to_seconds(message.get("createdAt")), **list_extra(message, _KNOWN)):
        builder.add_record("message", to_json(message))


def _sort_part(pieces: MessagePieces, part: dict[str, Any]) -> None:
    kind = part.get("type")
    if kind == "text":
        text = part.get("text")
        pieces.add_text(as_mapping(text).get("value") or text)
    elif kind == "think":
        pieces.add_thought(as_mapping(part.get("think")).get("value") or part.get("think"))
    elif kind == "tool_call":
        call = as_mapping(part.get("tool_call"))
        function = as_mapping(call.get("function")) or call
        pieces.add_call(call.get("id"), function.get("name"), function.get("args", function.get("arguments")))
        if output := as_parts(function.get("output")):
            pieces.add_output(call.get("id"), output)
    elif part:
        pieces.parts.append(part)


plugin = Plugin(name=NAME, summary="Imports exported conversations of LibreChat.", sources=[LibreChatImporter])
