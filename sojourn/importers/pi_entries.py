"""Lines of a session of pi, which OpenClaw stores too: a header, then entries that form a tree.

The last entry is the leaf of the active branch. In version 1 entries have no ids and no branches.
"""

from __future__ import annotations

from typing import Any

from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.message_tree import order_tree
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_mapping,
    as_parts,
    as_text,
    make_title,
    to_json,
    to_seconds,
)

_ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool"}
_KNOWN = (
    *("role", "content", "api", "provider", "model", "usage", "stopReason", "toolCallId", "toolName", "isError"),
    *("timestamp", "command", "output", "exitCode"),
)
_QUIET = (
    *("session", "model_change", "thinking_level_change", "context_edit", "branch_summary", "custom", "label"),
    *("session_info", "usage", "compaction"),
)


def add_entries(builder: TranscriptBuilder, entries: list[dict[str, Any]], leaf: str | None = None) -> dict[str, Any]:
    """Adds all entries of a session; returns its fields. Without a `leaf`, the last entry is the leaf."""
    facts: dict[str, Any] = {}
    named = {str(one.get("id") or f"line-{number}"): one for number, one in enumerate(entries, 1)}
    ids = list(named)
    parents = {own: as_text(one.get("parentId")) for own, one in named.items()}
    if not any(parents.values()):
        parents = dict(zip(ids, [None, *ids], strict=False))
    for own, is_active in order_tree(parents, leaf):
        start = len(builder.messages)
        _add_entry(builder, own, named[own], facts)
        if not is_active:
            builder.mark_undone(start)
    prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
    facts["title"] = facts.get("title") or make_title(next(prompts, ""))
    return facts


def _add_entry(builder: TranscriptBuilder, own: str, entry: dict[str, Any], facts: dict[str, Any]) -> None:
    kind, when = str(entry.get("type") or "entry"), to_seconds(entry.get("timestamp"))
    if kind == "message":
        _add_message(builder, own, as_mapping(entry.get("message")), when, facts)
        return
    if kind == "session":
        facts |= {"cwd": as_text(entry.get("cwd")), "started_at": when, "parent": as_text(entry.get("parentSession"))}
    elif kind == "session_info":
        facts["title"] = as_text(entry.get("name")) or facts.get("title")
    elif kind == "usage":
        _add_usage(builder, entry, facts)
    elif kind in ("compaction", "branch_summary", "custom_message"):
        if kind == "compaction":
            kept = _list_behind(builder, str(entry.get("firstKeptEntryId")))
            builder.mark_compacted(lambda message: message.native_id in kept)
        pieces = MessagePieces()
        pieces.add_text(entry.get("summary") or entry.get("content"))
        pieces.add_to(builder, "system", own, when)
    add = builder.add_record if kind in _QUIET else builder.add_unknown
    add(kind, to_json(entry))


def _list_behind(builder: TranscriptBuilder, first: str) -> set[str | None]:
    """The ids from a message on."""
    ids = [message.native_id for message in builder.messages]
    return set(ids[ids.index(first) :]) if first in ids else set()


def _add_message(
    builder: TranscriptBuilder, own: str, message: dict[str, Any], when: float, facts: dict[str, Any]
) -> None:
    role, pieces = str(message.get("role") or ""), MessagePieces()
    when = to_seconds(message.get("timestamp")) or when
    if role == "toolResult":
        is_error = message.get("isError") is True
        pieces.add_output(message.get("toolCallId"), message.get("content"), is_error=is_error)
    elif role == "bashExecution":
        pieces.add_text(f"$ {message.get('command')}\n{as_text(message.get('output')) or ''}".rstrip())
    else:
        for block in map(as_mapping, as_parts(message.get("content") or message.get("summary"))):
            _sort_block(pieces, block)
    if role == "assistant":
        facts["model"] = as_text(message.get("model")) or facts.get("model")
        facts["billing_provider"] = as_text(message.get("provider")) or facts.get("billing_provider")
        _add_usage(builder, message, facts)
    reason = as_text(message.get("stopReason"))
    extra = list_extra(message, _KNOWN)
    if not pieces.add_to(builder, _ROLES.get(role, "system"), own, when, finish_reason=reason, **extra):
        builder.add_record(role or "message", to_json(message))


def _sort_block(pieces: MessagePieces, block: dict[str, Any]) -> None:
    kind = block.get("type")
    if kind == "text":
        pieces.add_text(block.get("text"))
    elif kind == "thinking":
        pieces.add_thought(block.get("thinking"))
    elif kind == "toolCall":
        pieces.add_call(block.get("id"), block.get("name"), block.get("arguments"))
    elif block:
        pieces.parts.append(block)


def _add_usage(builder: TranscriptBuilder, entry: dict[str, Any], facts: dict[str, Any]) -> None:
    usage = as_mapping(entry.get("usage")) or (entry if "input" in entry else {})
    cost = as_mapping(usage.get("cost")).get("total")
    if usage:
        builder.usage.add(
            as_text(entry.get("model")) or facts.get("model") or "",
            provider=as_text(entry.get("provider")) or facts.get("billing_provider") or "",
            cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
            input_tokens=usage.get("input"),
            output_tokens=usage.get("output"),
            cache_read_tokens=usage.get("cacheRead"),
            cache_write_tokens=usage.get("cacheWrite"),
        )
