"""Converts records of Claude Code to messages, in the order of the file.

An answer is stored block by block, so its reasoning, its text and each of its calls are separate messages. Records that
a subagent or a fork repeats have the same `uuid`. Roles:

`user`       text that the person typed, including the arguments of slash commands
`tool`       tool results, which Claude Code stores as `user`
`assistant`  text, reasoning and tool calls of the model
`system`     everything automatic: reminders, notices, echoes of commands, summaries of compactions, and messages that
             Claude Code writes as the model (`<synthetic>`, such as a rejected request)

After a compaction earlier messages are `compacted`, except those it lists as preserved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sojourn.core.messages import Message, ToolCall
from sojourn.importers.jsonl import JsonLine
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_mapping,
    as_parts,
    as_text,
    join_lines,
    to_content,
    to_extra,
    to_json,
    to_seconds,
    to_text_part,
)

_AUTOMATIC_TEXT = re.compile(
    r"\s*(?:<(?:system-reminder|task-notification|local-command-\w+|bash-(?:input|stdout|stderr)|ide_\w+|"
    r"user-memory-input|command-(?:name|message))\b|Caveat: The messages below were generated|"
    r"\[Request interrupted by user)"
)
_ARGUMENTS = re.compile(r"<command-args>\s*[^\s<]")
_ENVELOPE = {
    *("type", "uuid", "timestamp", "sessionId", "session_id", "cwd", "gitBranch", "version", "userType"),
    *("entrypoint", "message", "isSidechain", "slug", "agentId", "promptId", "requestId"),
}
_MESSAGE = frozenset(("role", "content", "type", "id", "model", "stop_reason", "stop_sequence", "usage"))
# Requests to the model: they repeat the messages.
REPEATED = ("api-request-blob",)


def add_record(builder: TranscriptBuilder, line: JsonLine, *, is_subagent: bool) -> bool:
    """Adds the messages of a record; returns False if it has none."""
    record = line.record
    kind = record.get("type")
    native = as_text(record.get("uuid")) or f"line-{line.number}"
    before = len(builder.messages)
    if kind == "user":
        _add_user_messages(builder, record, native, is_subagent=is_subagent)
    elif kind == "assistant":
        _add_assistant_message(builder, record, native)
    elif kind == "system" and isinstance(record.get("content"), str) and record["content"].strip():
        extra = to_extra(record, _ENVELOPE | {"content"})
        builder.add("system", native, _get_time(record), content=record["content"], extra=extra)
    elif kind == "attachment":
        _add_queued_prompt(builder, record, native)
    if record.get("subtype") == "compact_boundary":
        preserved = _find_preserved(record, builder.messages)
        builder.mark_compacted(lambda message: message.native_id == native or _get_record_id(message) in preserved)
    return len(builder.messages) > before


def _get_time(record: dict[str, Any]) -> float:
    return to_seconds(record.get("timestamp"))


def list_blocks(record: dict[str, Any]) -> list[Any]:
    """The content of a record as a list of blocks."""
    return as_parts(as_mapping(record.get("message")).get("content"))


def _add_user_messages(builder: TranscriptBuilder, record: dict[str, Any], native: str, *, is_subagent: bool) -> None:
    is_automatic = _is_automatic(record) or (bool(record.get("isSidechain")) and not is_subagent)
    more = {key: value for key, value in record.items() if key not in _ENVELOPE}
    for role, blocks in groupby(list_blocks(record), lambda block: _choose_role(block, is_automatic)):
        if role != "tool":
            builder.add(role, native, _get_time(record), extra=to_extra(more, ()), **to_content(list(blocks)))
            more = {}
            continue
        for block in blocks:
            output = block.get("content")
            parts = output if isinstance(output, list) else [to_text_part(as_text(output) or "")]
            builder.add(
                "tool",
                native,
                _get_time(record),
                tool_call_id=str(block.get("tool_use_id") or ""),
                extra=to_extra(more | {"is_error": block.get("is_error") or None}, ()),
                **to_content(parts),
            )
            more = {}


def _is_automatic(record: dict[str, Any]) -> bool:
    origin = as_mapping(record.get("origin")).get("kind", "human")
    flags = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    return any(record.get(flag) for flag in flags) or origin != "human" or record.get("promptSource") == "system"


def _choose_role(block: Any, is_automatic: bool) -> str:
    if as_mapping(block).get("type") == "tool_result":
        return "tool"
    text = block.get("text") if isinstance(block, dict) else block
    if is_automatic or (isinstance(text, str) and _AUTOMATIC_TEXT.match(text) and not _ARGUMENTS.search(text)):
        return "system"
    return "user"


def _add_assistant_message(builder: TranscriptBuilder, record: dict[str, Any], native: str) -> None:
    inner, blocks = as_mapping(record.get("message")), list_blocks(record)
    calls = [block for block in blocks if as_mapping(block).get("type") == "tool_use"]
    reasoning = [block for block in blocks if as_mapping(block).get("type") in ("thinking", "redacted_thinking")]
    texts = [block for block in blocks if block not in calls and block not in reasoning]
    if not blocks:
        return
    builder.add(
        "system" if inner.get("model") == "<synthetic>" else "assistant",
        native,
        _get_time(record),
        calls=[_to_tool_call(block) for block in calls],
        **to_content(texts),
        reasoning=join_lines(block.get("thinking") for block in reasoning),
        reasoning_details=to_json(reasoning) if reasoning else None,
        finish_reason=as_text(inner.get("stop_reason")),
        extra=to_extra(record | {key: inner[key] for key in inner if key not in _MESSAGE}, _ENVELOPE),
    )


def _to_tool_call(block: dict[str, Any]) -> ToolCall:
    return ToolCall(
        id=str(block.get("id") or ""), name=str(block.get("name") or "unknown"), arguments=to_json(block.get("input"))
    )


def _add_queued_prompt(builder: TranscriptBuilder, record: dict[str, Any], native: str) -> None:
    """Adds a prompt that the person typed during a turn; Claude Code stores it as an attachment."""
    found = as_mapping(record.get("attachment"))
    if found.get("type") != "queued_command":
        return
    is_automatic = found.get("commandMode", "prompt") != "prompt" or _is_automatic(found)
    for role, blocks in groupby(as_parts(found.get("prompt")), lambda block: _choose_role(block, is_automatic)):
        builder.add(role, native, _get_time(record), **to_content(list(blocks)))


def _find_preserved(record: dict[str, Any], messages: list[Message]) -> set[str]:
    """The ids of the records that a compaction preserved."""
    facts = as_mapping(record.get("compactMetadata"))
    listed = as_mapping(facts.get("preservedMessages")).get("allUuids")
    if isinstance(listed, list):
        return {one for one in listed if isinstance(one, str)}
    segment = as_mapping(facts.get("preservedSegment"))
    return set(_list_between(segment.get("headUuid"), segment.get("tailUuid"), messages))


def _list_between(head: Any, tail: Any, messages: list[Message]) -> Iterator[str]:
    inside = False
    for message in messages:
        record = _get_record_id(message)
        inside = inside or record == head
        if inside:
            yield record
        if record == tail:
            inside = False


def _get_record_id(message: Message) -> str:
    return (message.native_id or "").partition("#")[0]
