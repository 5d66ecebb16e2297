"""Cursor: conversations in the table `cursorDiskKV` of `globalStorage/state.vscdb`. The table beside it holds
credentials and is never read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import DatabaseImporter, StoredSession
from sojourn.importers.jsonl import parse_object
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    to_count,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "cursor"
_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
_KNOWN = (
    *("_v", "type", "bubbleId", "text", "rawText", "richText", "createdAt", "tokenCount", "modelInfo", "thinking"),
    "toolFormerData",
)
_ROLES = {"1": "user", "2": "assistant"}  # by the type of the bubble


class CursorImporter(DatabaseImporter):
    """Imports conversations of Cursor."""

    name, label = NAME, "Cursor"
    file_name, columns = "state.vscdb", MappingProxyType({"cursorDiskKV": "value"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        roots = [
            user_home / ".config" / "Cursor",
            user_home / "Library" / "Application Support" / "Cursor",
            Path(environment.get("APPDATA") or user_home / "AppData" / "Roaming") / "Cursor",
        ]
        return [root / "User" / "globalStorage" / self.file_name for root in roots]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        parents: dict[str, str] = {}
        found: dict[str, dict[str, Any]] = {}
        for key, value in _query_prefix(db, _COMPOSER):
            head = parse_object(value or "") or {}
            if as_list(head.get("fullConversationHeadersOnly")) or as_list(head.get("conversation")):
                found[key] = head
                parents |= {str(child): key for child in as_list(head.get("subComposerIds"))}
        for key, head in found.items():
            marks = (head.get("lastUpdatedAt"), len(as_list(head.get("fullConversationHeadersOnly"))), head.get("name"))
            yield StoredSession(
                native_id=key,
                path=path,
                fingerprint=":".join(map(str, marks)),
                began=to_seconds(head.get("createdAt")),
                parent=parents.get(key, ""),
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        rows = dict(_query_prefix(db, _COMPOSER + one.native_id))
        head = parse_object(rows.get("") or "")
        if head is None:
            raise SourceUnreadable(
                f"Conversation {one.native_id} of {one.path} cannot be read.", hint="It is damaged, or was deleted."
            )
        bubbles = dict(_query_prefix(db, f"{_BUBBLE}{one.native_id}:"))
        builder = TranscriptBuilder(to_seconds(head.get("createdAt")))
        models: list[str] = []
        for number, item in enumerate(_list_headers(head), 1):
            own = as_text(item.get("bubbleId")) or f"bubble-{number}"
            bubble = parse_object(bubbles.get(own) or "") or (item if "text" in item else None)
            if bubble is None:
                builder.warnings.append(f"message {own} is missing or damaged")
                continue
            _add_bubble(builder, own, bubble, models)
        fields = {
            "source": "subagent" if one.parent else NAME,
            "parent_session_id": one.parent or None,
            "title": as_text(head.get("name")),
            "model": models[-1] if models else None,
            "started_at": to_seconds(head.get("createdAt")) or builder.clock,
        }
        kept = {key: value for key, value in head.items() if key not in ("fullConversationHeadersOnly", "conversation")}
        builder.add_record("composerData", to_json(kept))
        return builder.build(one.native_id, fields)


def _query_prefix(db: Connection, prefix: str) -> Iterator[tuple[str, str]]:
    """The rows whose key begins with a prefix, by the rest of the key."""
    query = "SELECT key, value FROM cursorDiskKV WHERE key >= ? AND key < ? ORDER BY key"
    for key, value in db.execute(query, (prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))):
        text = value if isinstance(value, str) else bytes(value or b"").decode("utf-8", "surrogateescape")
        yield str(key)[len(prefix) :], text


def _list_headers(head: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages in their order; older versions kept them inside."""
    listed = as_list(head.get("fullConversationHeadersOnly")) or as_list(head.get("conversation"))
    return [as_mapping(one) for one in listed]


def _add_bubble(builder: TranscriptBuilder, own: str, bubble: dict[str, Any], models: list[str]) -> None:
    pieces, tool = MessagePieces(), as_mapping(bubble.get("toolFormerData"))
    pieces.add_text(as_text(bubble.get("text")) or bubble.get("rawText"))
    thinking = bubble.get("thinking")
    pieces.add_thought(as_mapping(thinking).get("text") or thinking)
    if tool:
        call_id = tool.get("toolCallId") or own
        pieces.add_call(call_id, tool.get("name"), tool.get("rawArgs") or tool.get("params"))
        if tool.get("result") is not None:
            pieces.add_output(call_id, tool["result"], is_error=tool.get("status") == "error")
    role = _ROLES.get(str(bubble.get("type")), "system")
    if not pieces.add_to(builder, role, own, to_seconds(bubble.get("createdAt")), **list_extra(bubble, _KNOWN)):
        builder.add_record("bubble", to_json(bubble))
    model, tokens = as_text(as_mapping(bubble.get("modelInfo")).get("modelName")), as_mapping(bubble.get("tokenCount"))
    models += [model] if model else []
    used, made = to_count(tokens.get("inputTokens")), to_count(tokens.get("outputTokens"))
    if used or made:
        builder.usage.add(model or (models[-1] if models else ""), input_tokens=used, output_tokens=made)


plugin = Plugin(name=NAME, summary="Imports the conversations of Cursor.", sources=[CursorImporter])
