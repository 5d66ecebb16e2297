"""Builds the transcript of a foreign session with its usage, and converts values that foreign records share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sojourn.core.messages import Message, ToolCall, dump_calls
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.ports.importer import Transcript

_MAX_SECONDS = 1e11  # a larger number is a time in milliseconds
_TITLE_CHARACTERS = 80
_MAX_TOKENS = 2**53  # larger numbers are not exact in JSON
_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
NO_USAGE = dict.fromkeys((*_TOKEN_FIELDS, "api_call_count"), 0)  # of a fork that only repeats its parent


class ImportedUsage:
    """Sums token counts as the store defines them: tokens read from a cache are not input tokens."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, model: str, *, provider: str = "", cost: float | None = None, **tokens: Any) -> None:
        """Adds one answer of a model."""
        row = self._models.setdefault((model, provider), {"model": model, "billing_provider": provider, **NO_USAGE})
        row["api_call_count"] += 1
        for name in _TOKEN_FIELDS:
            row[name] += to_count(tokens.get(name))
        if cost is not None:
            row["estimated_cost_usd"] = row.get("estimated_cost_usd", 0.0) + cost

    def fields(self) -> dict[str, Any]:
        """The columns of the session and `usage`, its rows per model; empty if nothing was added."""
        rows = list(self._models.values())
        if not rows:
            return {}
        sums = {name: sum(row[name] for row in rows) for name in (*_TOKEN_FIELDS, "api_call_count")}
        costs = [row["estimated_cost_usd"] for row in rows if "estimated_cost_usd" in row]
        return {**sums, "usage": rows} | ({"estimated_cost_usd": sum(costs)} if costs else {})


class TranscriptBuilder:
    """Collects the messages of a session in order, and the records that are not messages.

    Each message needs a `native_id` that is the same at the next import, which adds only new messages. If one record
    becomes several messages, the later ones get `#2`, `#3` … appended to its id.
    """

    def __init__(self, start: float = 0.0) -> None:
        self.messages: list[Message] = []
        self.records: list[tuple[str, str]] = []
        self.warnings: list[str] = []
        self.usage = ImportedUsage()
        self.clock = start  # the time of the latest message, for records without a time
        self._native_ids: set[str] = set()
        self._tools: dict[str, str] = {}
        self._unknown: Counter[str] = Counter()

    def add(
        self, role: str, native_id: str, timestamp: float, *, calls: Sequence[ToolCall] = (), **fields: Any
    ) -> None:
        """Appends a message with these fields. A tool result gets the name of the tool that was called."""
        self.clock = timestamp or self.clock
        if calls:
            self._tools.update((call.id, call.name) for call in calls)
            fields["tool_calls"] = dump_calls(calls)
        if role == "tool":
            fields["tool_name"] = self._tools.get(fields.get("tool_call_id") or "")
        number, unique_id = 1, native_id
        while unique_id in self._native_ids:
            number += 1
            unique_id = f"{native_id}#{number}"
        self._native_ids.add(unique_id)
        self.messages.append(Message(role=role, native_id=unique_id, timestamp=self.clock, **fields))

    def add_record(self, kind: str, text: str) -> None:
        """Stores a record that is not a message, unchanged."""
        self.records.append((kind, text))

    def add_unknown(self, kind: str, text: str) -> None:
        """Stores a record that nobody knows how to read, unchanged; the transcript will warn of it."""
        self._unknown[kind] += 1
        self.add_record(kind, text)

    def mark_compacted(self, is_kept: Callable[[Message], bool] = lambda _: False) -> None:
        """Marks all messages so far as compacted, except those that stayed in the context of the model."""
        self.messages = [
            message if is_kept(message) or not message.active else replace(message, active=False, compacted=True)
            for message in self.messages
        ]

    def mark_undone(self, start: int) -> None:
        """Marks the messages from index `start` on as undone by the person."""
        undone = (replace(message, active=False, compacted=False) for message in self.messages[start:])
        self.messages = [*self.messages[:start], *undone]

    def build(self, native_id: str, fields: Mapping[str, Any], *files: JsonLinesFile) -> Transcript:
        """Returns the transcript; `fields` are completed by the usage, and `files` add their unreadable lines."""
        unknown = ", ".join(f"{kind} ({number})" for kind, number in sorted(self._unknown.items()))
        not_read = (f"not understood and stored unchanged: {unknown[:300]}",) if unknown else ()
        return Transcript(
            native_id=native_id,
            fields={**fields, **self.usage.fields()},
            messages=self.messages,
            records=[*self.records, *(one for file in files for one in file.unreadable)],
            warnings=(*(one for file in files for one in file.warnings), *self.warnings, *not_read),
        )


def to_count(value: Any) -> int:
    """A token count; 0 if the value is missing or implausible."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _MAX_TOKENS else 0


def to_seconds(moment: Any) -> float:
    """A time in ISO format, seconds or milliseconds, as seconds; 0 if it is none of these."""
    if isinstance(moment, bool) or not isinstance(moment, str | int | float):
        return 0.0
    if isinstance(moment, str):
        try:
            when = datetime.fromisoformat(moment)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return moment / 1000 if abs(moment) > _MAX_SECONDS else float(moment)


def to_content(parts: Sequence[Any]) -> dict[str, Any]:
    """`content` and `structured` of a Message: a single text is text, anything else stays a list of parts."""
    if not parts:
        return {"content": None}
    if len(parts) == 1 and (text := get_plain_text(parts[0])) is not None:
        return {"content": text}
    return {"content": to_json(parts), "structured": True}


def to_text_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def as_parts(value: Any) -> list[Any]:
    """Content as a list of parts: a text becomes one part, anything but a text or a list becomes none."""
    if isinstance(value, str):
        return [to_text_part(value)] if value else []
    return as_list(value)


def get_plain_text(part: Any) -> str | None:
    """The text of a part that has no other content."""
    if not isinstance(part, dict) or any(value for key, value in part.items() if key not in ("type", "text", "id")):
        return None
    text = part.get("text")
    return text if isinstance(text, str) and str(part.get("type", "")).endswith("text") else None


def join_texts(parts: Any) -> str:
    """The texts of a list of parts, one per line."""
    found = (part.get("text") for part in as_list(parts) if isinstance(part, dict))
    return "\n".join(text for text in found if isinstance(text, str))


def to_extra(record: Mapping[str, Any], known: Iterable[str]) -> str | None:
    """The fields of a record that have no column of their own, as JSON text."""
    left = {key: record[key] for key in record if key not in known and record[key] not in (None, "", [], {})}
    return to_json(left) if left else None


def to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def as_mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one: foreign records may be malformed."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The value if it is a non-empty text."""
    return value if isinstance(value, str) and value else None


def join_lines(values: Iterable[Any]) -> str | None:
    """The non-empty texts among some values, one per line; None without any."""
    return "\n".join(filter(None, map(as_text, values))) or None


def make_title(prompt: str) -> str | None:
    """A title from the first words of a prompt."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if len(line) <= _TITLE_CHARACTERS:
        return line or None
    cut = line[:_TITLE_CHARACTERS].rpartition(" ")[0] or line[:_TITLE_CHARACTERS]
    return cut.rstrip() + "…"
