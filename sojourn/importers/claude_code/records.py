"""Records of Claude Code as messages: one record is one message, in the order of the file.

An answer is written block by block, so its thought, its words and each of its calls are messages of
their own; what a helper or a fork repeats is told apart by `uuid`. Who said something:

`user`       what the person typed, also the arguments of a command of theirs
`tool`       results, which Claude Code files under `user`
`assistant`  what the model said, thought and asked for
`system`     what nobody said: reminders, notices, echoes of commands, summaries of what was compacted,
             and what Claude Code says in the model's name (`<synthetic>`, such as a refused request)

After a compaction earlier messages are `compacted`, but for those it says it preserved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sojourn.core.messages import Message, ToolCall
from sojourn.importers.jsonl import Line
from sojourn.importers.transcript_builder import Talk, as_json, content, mapping, nonempty, rest, seconds

_NOBODY = re.compile(
    r"\s*(?:<(?:system-reminder|task-notification|local-command-\w+|bash-(?:input|stdout|stderr)|ide_\w+|"
    r"user-memory-input|command-(?:name|message))\b|Caveat: The messages below were generated|"
    r"\[Request interrupted by user)"
)
_ARGUMENTS = re.compile(r"<command-args>\s*[^\s<]")
_ENVELOPE = frozenset(
    (
        "type",
        "uuid",
        "timestamp",
        "sessionId",
        "session_id",
        "cwd",
        "gitBranch",
        "version",
        "userType",
        "entrypoint",
        "message",
        "isSidechain",
        "slug",
        "agentId",
        "promptId",
        "requestId",
    )
)
_MESSAGE = frozenset(("role", "content", "type", "id", "model", "stop_reason", "stop_sequence", "usage"))
# Requests as they were sent: the same messages once more.
REPEATED = ("api-request-blob",)


def add(talk: Talk, line: Line, *, is_helper: bool) -> bool:
    """Adds what a record says; False when it says nothing and is to be kept as it stands."""
    record = line.record
    kind = record.get("type")
    native = nonempty(record.get("uuid")) or f"line-{line.number}"
    before = len(talk.messages)
    if kind == "user":
        _user(talk, record, native, is_helper=is_helper)
    elif kind == "assistant":
        _assistant(talk, record, native)
    elif kind == "system" and isinstance(record.get("content"), str) and record["content"].strip():
        talk.add(_message("system", record, native, content=record["content"], extra=rest(record, _SYSTEM)))
    elif kind == "attachment":
        _queued(talk, record, native)
    if record.get("subtype") == "compact_boundary":
        kept = _preserved(record, talk.messages)
        talk.summarised(lambda message: message.native_id == native or _record_of(message) in kept)
    return len(talk.messages) > before


_SYSTEM = _ENVELOPE | {"content"}


def _message(role: str, record: dict[str, Any], native: str, **fields: Any) -> Message:
    return Message(role=role, native_id=native, timestamp=seconds(record.get("timestamp")), **fields)


def blocks_of(record: dict[str, Any]) -> list[Any]:
    """The content of a record as a list of blocks: a lone text stands for one."""
    found = mapping(record.get("message")).get("content")
    if isinstance(found, str):
        return [{"type": "text", "text": found}] if found else []
    return found if isinstance(found, list) else []


def _user(talk: Talk, record: dict[str, Any], native: str, *, is_helper: bool) -> None:
    nobody = _is_nobodys(record) or (bool(record.get("isSidechain")) and not is_helper)
    more = {key: value for key, value in record.items() if key not in _ENVELOPE}
    for role, blocks in groupby(blocks_of(record), lambda block: _author(block, nobody)):
        if role != "tool":
            talk.add(_message(role, record, native, extra=rest(more, ()), **content(list(blocks))))
            more = {}
            continue
        for block in blocks:
            talk.add(_result(record, block, native, more))
            more = {}


def _is_nobodys(record: dict[str, Any]) -> bool:
    origin = mapping(record.get("origin")).get("kind", "human")
    flags = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
    return any(record.get(flag) for flag in flags) or origin != "human" or record.get("promptSource") == "system"


def _author(block: Any, nobody: bool) -> str:
    if isinstance(block, dict) and block.get("type") == "tool_result":
        return "tool"
    text = block.get("text") if isinstance(block, dict) else block
    if nobody or (isinstance(text, str) and _NOBODY.match(text) and not _ARGUMENTS.search(text)):
        return "system"
    return "user"


def _result(record: dict[str, Any], block: dict[str, Any], native: str, more: dict[str, Any]) -> Message:
    said = block.get("content")
    parts = said if isinstance(said, list) else [{"type": "text", "text": said if isinstance(said, str) else ""}]
    return _message(
        "tool",
        record,
        native,
        tool_call_id=str(block.get("tool_use_id") or ""),
        **content(parts),
        extra=rest(more | {"is_error": block.get("is_error") or None}, ()),
    )


def _assistant(talk: Talk, record: dict[str, Any], native: str) -> None:
    inner, blocks = mapping(record.get("message")), blocks_of(record)
    asked = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    thought = [
        block for block in blocks if isinstance(block, dict) and block.get("type") in ("thinking", "redacted_thinking")
    ]
    said = [block for block in blocks if block not in asked and block not in thought]
    if not blocks:
        return
    talk.add(
        _message(
            "system" if inner.get("model") == "<synthetic>" else "assistant",
            record,
            native,
            **content(said),
            reasoning="\n".join(filter(None, (nonempty(block.get("thinking")) for block in thought))) or None,
            reasoning_details=as_json(thought) if thought else None,
            finish_reason=nonempty(inner.get("stop_reason")),
            extra=rest(record | {"message": None} | _more(inner), _ENVELOPE),
        ),
        [_call(block) for block in asked],
    )


def _more(inner: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in inner.items() if key not in _MESSAGE}


def _call(block: dict[str, Any]) -> ToolCall:
    return ToolCall(
        id=str(block.get("id") or ""), name=str(block.get("name") or "unknown"), arguments=as_json(block.get("input"))
    )


def _queued(talk: Talk, record: dict[str, Any], native: str) -> None:
    """What the person typed while a turn was running is filed among the attachments."""
    found = mapping(record.get("attachment"))
    if found.get("type") != "queued_command":
        return
    prompt = found.get("prompt")
    blocks = prompt if isinstance(prompt, list) else [{"type": "text", "text": prompt}] if nonempty(prompt) else []
    nobody = found.get("commandMode", "prompt") != "prompt" or _is_nobodys(found)
    for role, said in groupby(blocks, lambda block: _author(block, nobody)):
        talk.add(_message(role, record, native, **content(list(said))))


def _preserved(record: dict[str, Any], messages: list[Message]) -> set[str]:
    """The records a compaction left as they were."""
    facts = mapping(record.get("compactMetadata"))
    listed = mapping(facts.get("preservedMessages")).get("allUuids")
    if isinstance(listed, list):
        return {one for one in listed if isinstance(one, str)}
    segment = mapping(facts.get("preservedSegment"))
    return set(_between(segment.get("headUuid"), segment.get("tailUuid"), messages))


def _between(head: Any, tail: Any, messages: list[Message]) -> Iterator[str]:
    inside = False
    for message in messages:
        record = _record_of(message)
        inside = inside or record == head
        if inside:
            yield record
        if record == tail:
            inside = False


def _record_of(message: Message) -> str:
    return (message.native_id or "").partition("#")[0]
