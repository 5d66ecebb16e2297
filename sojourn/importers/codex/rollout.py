"""Reads a rollout of Codex as a session.

A rollout has everything twice: `response_item` is the traffic with the model, `event_msg` is what the terminal showed.
Messages come from the first. The second says what the person typed (`user_message`, since 0.147 `item_completed`),
because Codex sends its own context with the role `user`. Such context, developer instructions, notices, summaries and
the errors of failed requests get the role `system`.

The id of a message is the number of its line, so it stays the same when the file grows or is compressed. A compaction
marks everything before it as `compacted`, except the messages in its `replacement_history`; `thread_rolled_back` undoes
the last turns of the person. A fork of 0.166 has only its own messages and names its parent. An older one repeats the
lines of its parent, whose usage counts there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.core.messages import text_of
from sojourn.importers.codex import items
from sojourn.importers.jsonl import JsonLine, JsonLinesFile
from sojourn.importers.transcript_builder import (
    NO_USAGE,
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    join_texts,
    make_title,
    to_count,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript

NAME = "codex"
_CONTEXT = re.compile(r"\s*(?:<([a-z_ ]+)>.*</\1>\s*$|# AGENTS\.md instructions)", re.DOTALL)
_INJECTED = re.compile(r"\A(?:\s*<([a-z][a-z_-]*)(?: [^<>]*)?>.*?</\1>)+", re.DOTALL)
_REQUEST_HEADING = "## My request for Codex:"
_CWD = re.compile(r"(?:<cwd>|Current working directory: )([^<\n]+)")
# These events repeat other records.
_REPEATED = {"token_count", "agent_message_delta", "agent_reasoning_delta", "agent_reasoning_section_break"}


def read_rollout(
    native: str,
    path: Path,
    *,
    name: str | None = None,
    archived: bool = False,
    find_path: Callable[[str], Path | None] = lambda _: None,
) -> Transcript:
    """Reads the whole session.

    name: the title that the person gave it
    find_path: finds the file of another session, whose lines this one may repeat
    """
    file = JsonLinesFile(path)
    lines = list(file)
    reader = _RolloutReader(lines, _list_replayed_totals(lines, find_path))
    reader.add_lines(lines)
    builder = reader.builder
    prompts = (_strip_injected(text_of(message)) for message in builder.messages if message.role == "user")
    prompt = next((text for text in prompts if text.strip()), "")
    started = reader.started or (builder.messages[0].timestamp if builder.messages else 0.0)
    own = {"title": name or make_title(prompt), "archived": int(archived), "started_at": started}
    return builder.build(native, reader.fields | own, file)


def _strip_injected(text: str) -> str:
    """A prompt as the person typed it: without what an editor or Codex itself puts before it."""
    text = _INJECTED.sub("", text)
    head, request, typed = text.partition(_REQUEST_HEADING)
    return typed if request and head.lstrip().startswith("# Context from") else text


def _unwrap_line(line: JsonLine) -> tuple[str, dict[str, Any]]:
    """The kind and payload of a line; up to 0.31 lines had no envelope."""
    record = line.record
    if isinstance(record.get("payload"), dict):
        return str(record.get("type") or "unknown"), record["payload"]
    if "record_type" in record:
        return str(record["record_type"]), record
    if "type" in record:
        return "response_item", record
    return ("session_meta" if "id" in record else "unknown"), record


def _list_replayed_totals(lines: list[JsonLine], find_path: Callable[[str], Path | None]) -> list[Any]:
    """The running totals of the session that a fork repeats, in order; its head is the second one in the file."""
    heads = [payload for kind, payload in map(_unwrap_line, lines) if kind == "session_meta"]
    parent = find_path(str(heads[1].get("id"))) if len(heads) > 1 and heads[1].get("id") != heads[0].get("id") else None
    totals: list[Any] = []
    try:
        for line in JsonLinesFile(parent) if parent else ():
            total = _get_total(_unwrap_line(line)[1])
            if total and total not in totals[-1:]:
                totals.append(total)
    except SourceUnreadable:
        pass  # reported when it is imported itself
    return totals


def _get_total(payload: dict[str, Any]) -> Any:
    """The running total of an event about tokens."""
    return as_mapping(payload.get("info")).get("total_token_usage") if payload.get("type") == "token_count" else None


class _RolloutReader:
    """Builds the session from its lines; first collects the texts of its items and the texts that the person typed."""

    def __init__(self, lines: list[JsonLine], replayed: list[Any]) -> None:
        self.builder = TranscriptBuilder()
        self.fields: dict[str, Any] = {"source": NAME}
        self.started = 0.0
        self._item_texts: set[str] = set()
        self._typed_texts: set[str] = set()
        self._last_typed_line = self._last_item_line = 0  # numbers of the last lines with each
        self._total: Any = None
        self._replayed = replayed  # totals of the parent that may still come
        for line in lines:
            kind, payload = _unwrap_line(line)
            if kind == "response_item":
                self._item_texts |= items.list_texts(payload) | items.list_texts({"content": payload.get("summary")})
                self._last_item_line = line.number
            elif kind == "event_msg" and (typed := _get_typed_text(payload)):
                self._typed_texts.add(typed)
                self._last_typed_line = line.number

    def _read_meta(self, head: dict[str, Any]) -> None:
        """Reads the first `session_meta` only: an old fork repeats the one of its parent."""
        if "extra" in self.fields:
            return
        self.started = to_seconds(head.get("timestamp"))
        spawned = as_mapping(as_mapping(as_mapping(head.get("source")).get("subagent")).get("thread_spawn"))
        parent = head.get("parent_thread_id") or spawned.get("parent_thread_id") or head.get("forked_from_id")
        git, base = as_mapping(head.get("git")), as_mapping(head.get("base_instructions"))
        self.fields |= {
            "source": "subagent" if "subagent" in as_mapping(head.get("source")) else NAME,
            "parent_session_id": as_text(parent),
            "cwd": as_text(head.get("cwd")),
            "git_branch": as_text(git.get("branch")),
            "billing_provider": as_text(head.get("model_provider")),
            "system_prompt": as_text(base.get("text")) or as_text(head.get("instructions")),
        }
        known = ("id", "session_id", "timestamp", "cwd", "base_instructions", "instructions")
        self.fields["extra"] = to_json({key: value for key, value in head.items() if key not in known and value})

    def _add_usage(self, payload: dict[str, Any]) -> None:
        """Adds the usage of an answer once: events repeat the running total, which restarts with each process."""
        total, last = _get_total(payload), as_mapping(as_mapping(payload.get("info")).get("last_token_usage"))
        if not total or total == self._total:
            return
        self._total = total
        if self._replayed[:1] == [total]:
            self._replayed = self._replayed[1:]
            self.fields |= NO_USAGE | {"usage": []}
            return
        self._replayed = []
        cached = to_count(last.get("cached_input_tokens"))
        self.builder.usage.add(
            self.fields.get("model") or "",
            provider=self.fields.get("billing_provider") or "",
            input_tokens=to_count(last.get("input_tokens")) - cached,
            cache_read_tokens=cached,
            cache_write_tokens=last.get("cache_write_input_tokens"),
            output_tokens=last.get("output_tokens"),
            reasoning_tokens=last.get("reasoning_output_tokens"),
        )

    def add_lines(self, lines: list[JsonLine]) -> None:
        for line in lines:
            kind, payload = _unwrap_line(line)
            if not self._add_line(line, kind, payload):
                self.builder.add_record(kind, line.text)

    def _add_line(self, line: JsonLine, kind: str, payload: dict[str, Any]) -> bool:
        """Adds one line; returns False if it must be stored as a record too."""
        native, moment = str(line.number), to_seconds(line.record.get("timestamp")) or self.started
        if kind == "session_meta":
            self._read_meta(payload)
            return False
        if kind == "turn_context":
            self.fields["model"] = as_text(payload.get("model")) or self.fields.get("model")
            self.fields["cwd"] = self.fields.get("cwd") or as_text(payload.get("cwd"))
            return False
        if kind == "response_item":
            if as_mapping(line.record.get("metadata")).get("compaction_output"):
                return False  # the summary, which `compacted` repeats
            author = self._choose_role(payload, line.number)
            if author == "system" and not self.fields.get("cwd") and (hit := _CWD.search(items.get_text(payload))):
                self.fields["cwd"] = hit[1].strip()
            return items.add_item(self.builder, payload, native, moment, author=author)
        if kind == "compacted":
            return self._add_compaction(payload, native, moment)
        if kind == "event_msg":
            return self._add_event(payload, native, moment)
        return kind == "state"  # a marker without content

    def _choose_role(self, item: dict[str, Any], number: int) -> str:
        """The role of an item that Codex sent as `user`. Without other signs, a text inside a tag is context."""
        if item.get("role") != "user":
            return ""
        if kinds := items.list_content_kinds(item):
            return "user" if any(kind.startswith("user.") for kind in kinds) else "system"
        if items.list_texts(item) & self._typed_texts or any(
            as_mapping(one).get("type") == "input_image" for one in as_list(item.get("content"))
        ):
            return "user"
        is_open = not self._typed_texts or number > self._last_typed_line  # its event may not be written yet
        return "user" if is_open and not _CONTEXT.match(items.get_text(item)) else "system"

    def _add_compaction(self, payload: dict[str, Any], native: str, moment: float) -> bool:
        replacement = payload.get("replacement_history")
        repeated = {(items.get_role(one), items.get_text(one)) for one in as_list(replacement) if isinstance(one, dict)}
        self.builder.mark_compacted(lambda message: (message.role, text_of(message)) in repeated)
        if summary := as_text(payload.get("message")):
            self.builder.add("system", native, moment, content=summary)
        return not replacement and bool(summary)

    def _add_event(self, event: dict[str, Any], native: str, moment: float) -> bool:
        kind = str(event.get("type"))
        if kind == "token_count":
            self._add_usage(event)
        elif kind == "thread_rolled_back":
            self._roll_back(to_count(event.get("num_turns")))
        elif (typed := _get_typed_text(event)) and typed not in self._item_texts and int(native) < self._last_item_line:
            self.builder.add("user", native, moment, content=typed)  # never sent to the model
            return True
        failure = event if kind in ("error", "stream_error") else as_mapping(event.get("error"))
        if why := as_text(failure.get("message")):
            self.builder.add("system", native, moment, content=why, finish_reason="error")
            return False
        return kind in _REPEATED or _get_event_text(event) in self._item_texts

    def _roll_back(self, turns: int) -> None:
        prompts = [at for at, message in enumerate(self.builder.messages) if message.role == "user" and message.active]
        if turns and prompts:
            self.builder.mark_undone(prompts[-min(turns, len(prompts))])
            self.fields["rewind_count"] = self.fields.get("rewind_count", 0) + 1


def _get_event_text(event: dict[str, Any]) -> str:
    """The text that an event shows: a prompt, an answer or reasoning."""
    item = as_mapping(event.get("item"))
    text = join_texts(item.get("content")) or "\n".join(map(str, as_list(item.get("summary_text"))))
    return (text or as_text(event.get("message")) or as_text(event.get("text")) or "").strip()


def _get_typed_text(event: dict[str, Any]) -> str:
    """The text of an event for a prompt that the person typed; empty for other events."""
    is_typed = event.get("type") == "user_message" or as_mapping(event.get("item")).get("type") == "UserMessage"
    return _get_event_text(event) if is_typed else ""
