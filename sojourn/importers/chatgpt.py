"""ChatGPT: `conversations.json` of a data export, or `conversations-000.json` and more; also inside the ZIP archive.

A conversation is a tree. The path to `current_node` is what the person saw last; answers that were repeated and
prompts that were edited stay as undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.importers.export_importer import ExportImporter
from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.message_tree import order_tree
from sojourn.importers.transcript_builder import TranscriptBuilder, as_list, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "chatgpt"
_THOUGHTS = ("thoughts", "reasoning_recap")
_KNOWN = (
    "id",
    "author",
    "create_time",
    "update_time",
    "content",
    "status",
    "end_turn",
    "weight",
    "recipient",
    "channel",
)


class ChatGptImporter(ExportImporter):
    """Imports an export of ChatGPT."""

    name, label = NAME, "ChatGPT export"

    def is_conversation(self, record: Mapping[str, Any]) -> bool:
        return "mapping" in record

    def get_id(self, record: Mapping[str, Any]) -> str | None:
        return as_text(record.get("conversation_id")) or as_text(record.get("id"))

    def get_start(self, record: Mapping[str, Any]) -> float:
        return to_seconds(record.get("create_time"))

    def read_conversation(self, native_id: str, record: dict[str, Any]) -> Transcript:
        nodes = {own: as_mapping(node) for own, node in _require_mapping(record["mapping"]).items()}
        parents = {own: as_text(node.get("parent")) for own, node in nodes.items()}
        builder, models = TranscriptBuilder(self.get_start(record)), list[str]()
        calls: list[str] = []  # ids of the calls that wait for an output
        for own, is_active in order_tree(parents, as_text(record.get("current_node"))):
            start = len(builder.messages)
            if message := as_mapping(nodes[own].get("message")):
                _add_message(builder, own, message, calls, models)
            if not is_active:
                builder.mark_undone(start)
        fields = {
            "source": NAME,
            "title": as_text(record.get("title")),
            "model": (models[-1] if models else None) or as_text(record.get("default_model_slug")),
            "archived": int(record.get("is_archived") is True),
            "started_at": self.get_start(record) or builder.clock,
        }
        builder.add_record("conversation", to_json({key: record[key] for key in record if key != "mapping"}))
        return builder.build(native_id, fields)


def _require_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("its messages are not an object")
    return value


def _add_message(
    builder: TranscriptBuilder, own: str, message: dict[str, Any], calls: list[str], models: list[str]
) -> None:
    author, metadata = as_mapping(message.get("author")), as_mapping(message.get("metadata"))
    role, when, pieces = str(author.get("role") or "system"), to_seconds(message.get("create_time")), MessagePieces()
    text = _add_content(pieces, as_mapping(message.get("content")))
    recipient = as_text(message.get("recipient")) or "all"
    if model := as_text(metadata.get("model_slug")):
        models.append(model)
    if role == "assistant" and recipient != "all":
        pieces.add_call(own, recipient, {"input": text})
        pieces.parts, calls[:] = [], [*calls, own]
    elif role == "tool":
        outputs, pieces = pieces.parts, MessagePieces()
        if calls:
            pieces.add_output(calls.pop(), outputs or text)
        else:
            role, pieces.parts = "system", outputs
    elif role == "user" and metadata.get("is_visually_hidden_from_conversation"):
        role = "system"
    if pieces.parts or pieces.calls or pieces.thoughts or pieces.outputs:
        pieces.add_to(builder, role if role in ("user", "assistant") else "system", own, when)
    elif as_mapping(message.get("content")):
        builder.add_record(str(author.get("role") or "message"), to_json(message))


def _add_content(pieces: MessagePieces, content: dict[str, Any]) -> str:
    """Adds the content of a message; returns its text."""
    kind = content.get("content_type")
    if kind in _THOUGHTS:
        for thought in map(as_mapping, as_list(content.get("thoughts"))):
            pieces.add_thought("\n".join(filter(None, (as_text(thought.get(key)) for key in ("summary", "content")))))
        pieces.add_thought(content.get("content"))
        return ""
    given = as_list(content.get("parts")) or [content.get("text") or content.get("result")]
    for part in given:
        if isinstance(part, dict):
            pieces.parts.append({"type": str(part.get("content_type") or "part"), **part})
        else:
            pieces.add_text(part)
    return "\n".join(pieces.list_texts())


plugin = Plugin(name=NAME, summary="Imports an export of ChatGPT.", sources=[ChatGptImporter])
