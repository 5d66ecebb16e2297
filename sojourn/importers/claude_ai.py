"""Claude.ai: `conversations.json` of a data export, also inside its ZIP archive. `users.json` beside it is not read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.importers.export_importer import ExportImporter
from sojourn.importers.message_pieces import list_extra, sort_blocks
from sojourn.importers.message_tree import order_tree
from sojourn.importers.transcript_builder import TranscriptBuilder, as_list, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "claude-ai"
_KNOWN = (
    *("uuid", "sender", "text", "content", "created_at", "updated_at", "attachments", "parent_message_uuid"),
    "files",
)
_ROLES = {"human": "user", "assistant": "assistant"}


class ClaudeAiImporter(ExportImporter):
    """Imports an export of Claude.ai."""

    name, label = NAME, "Claude.ai export"

    def is_conversation(self, record: Mapping[str, Any]) -> bool:
        return "chat_messages" in record

    def get_id(self, record: Mapping[str, Any]) -> str | None:
        return as_text(record.get("uuid"))

    def get_start(self, record: Mapping[str, Any]) -> float:
        return to_seconds(record.get("created_at"))

    def read_conversation(self, native_id: str, record: dict[str, Any]) -> Transcript:
        if not isinstance(record["chat_messages"], list):
            raise TypeError("its messages are not a list")
        messages = {
            str(one.get("uuid") or f"message-{number}"): one
            for number, one in enumerate(map(as_mapping, record["chat_messages"]), 1)
        }
        builder = TranscriptBuilder(self.get_start(record))
        for own, is_active in _order_messages(messages):
            start = len(builder.messages)
            _add_message(builder, own, messages[own])
            if not is_active:
                builder.mark_undone(start)
        fields = {
            "source": NAME,
            "title": as_text(record.get("name")),
            "model": as_text(record.get("model")),
            "started_at": self.get_start(record) or builder.clock,
        }
        about = {key: value for key, value in record.items() if key not in ("chat_messages", "account")}
        builder.add_record("conversation", to_json(about))
        return builder.build(native_id, fields)


def _order_messages(messages: dict[str, dict[str, Any]]) -> list[tuple[str, bool]]:
    """Older exports name no parents: then the order of the file is the conversation."""
    parents = {own: as_text(one.get("parent_message_uuid")) for own, one in messages.items()}
    if not any(parents.values()):
        return [(own, True) for own in messages]
    return order_tree(parents, None)


def _add_message(builder: TranscriptBuilder, own: str, record: dict[str, Any]) -> None:
    blocks = as_list(record.get("content"))
    pieces = sort_blocks([one for one in blocks if as_mapping(one).get("type") != "token_budget"])
    if not (pieces.parts or pieces.calls or pieces.outputs):
        pieces.add_text(record.get("text"))
    for one in map(as_mapping, as_list(record.get("attachments"))):
        pieces.parts.append({"type": "attachment_text", **one, "text": as_text(one.get("extracted_content")) or ""})
    pieces.parts += [{"type": "file_name", **as_mapping(one)} for one in as_list(record.get("files"))]
    role = _ROLES.get(str(record.get("sender")), "system")
    when = to_seconds(record.get("created_at"))
    if not pieces.add_to(builder, role, own, when, **list_extra(record, _KNOWN)):
        builder.add_record("message", to_json(record))


plugin = Plugin(name=NAME, summary="Imports an export of Claude.ai.", sources=[ClaudeAiImporter])
