"""DeepSeek Harness: `~/.dsh/sessions/<folder>/session-<id>/session.jsonl.zstd`, or `.jsonl`, one event per line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces
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

NAME = "deepseek-harness"
_FILES = ("session.jsonl.zstd", "session.jsonl")
_CHUNKS = ("assistant/chunk", "text-chunks", "reasoning-chunks", "tool-chunks")


class DeepSeekHarnessImporter(FileImporter):
    """Imports sessions of DeepSeek Harness."""

    name, label = NAME, "DeepSeek Harness"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("DSH_HOME") or user_home / ".dsh")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name in _FILES and home.parent.name.startswith("session-") else []
        else:
            root = home if home.name == "sessions" else home / "sessions"
            found = [path for name in _FILES for path in sorted(root.glob(f"*/session-*/{name}"))]
        for path in found:
            yield inspect_file(path.parent.name, path)

    def read_session(self, one: StoredSession) -> Transcript:
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        events = _SessionEvents(builder)
        for line in file:
            events.add(line.number, line.record)
        events.close()
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        facts = events.facts
        fields = {
            "source": NAME,
            **facts,
            "title": facts.get("title") or make_title(next(prompts, "")),
            "started_at": facts.get("started_at") or one.began,
        }
        return builder.build(one.native_id, fields, file)


class _SessionEvents:
    """Adds events. What arrived in pieces counts only if the whole message never came."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self.facts: dict[str, Any] = {}
        self._pieces: list[str] = []
        self._began = ("", 0.0)

    def add(self, number: int, record: dict[str, Any]) -> None:
        kind, data = str(record.get("type") or ""), as_mapping(record.get("data"))
        seq = record.get("seq")
        own = f"seq-{seq}" if isinstance(seq, int) and not isinstance(seq, bool) else f"line-{number}"
        when = to_seconds(record.get("time"))
        if kind in _CHUNKS:
            self._add_chunk(own, when, data)
            return
        if kind == "user/message":
            self.close()
            source = as_mapping(data.get("source")).get("kind")
            self._add_message("user" if source == "user" else "system", own, when, data)
        elif kind == "assistant/message":
            self._pieces.clear()
            self._add_message("assistant", own, when, data)
        elif kind == "tool/result":
            self._add_message("tool", own, when, data)
        elif kind == "session":
            self.facts |= {"cwd": as_text(record.get("cwd")), "started_at": to_seconds(record.get("createdAt"))}
            self._builder.add_record(kind, to_json(record))
        elif kind == "session/title":
            self.facts["title"] = as_text(data.get("title")) or self.facts.get("title")
        elif "/" in kind:  # an event of a plug-in
            self._builder.add_record(kind, to_json(record))
        else:
            self._builder.add_unknown(kind or "line", to_json(record))

    def close(self) -> None:
        """Adds an answer that was interrupted."""
        if self._pieces:
            own, when = self._began
            self._builder.add("assistant", own, when, content="".join(self._pieces))
            self._pieces.clear()

    def _add_chunk(self, own: str, when: float, data: dict[str, Any]) -> None:
        chunk = as_mapping(data.get("chunk"))
        texts = as_list(data.get("texts")) or ([chunk.get("text")] if chunk.get("type") == "text-delta" else [])
        if texts and not self._pieces:
            self._began = own, when
        self._pieces += filter(None, map(as_text, texts))

    def _add_message(self, role: str, own: str, when: float, data: dict[str, Any]) -> None:
        said, pieces = as_mapping(data.get("message")) or data, MessagePieces()
        for block in map(as_mapping, as_parts(said.get("content"))):
            _sort_block(pieces, block)
        if role == "assistant":
            self._note_model(said, data)
        if not pieces.add_to(self._builder, role, own, when):
            self._builder.add_record(role, to_json(data))

    def _note_model(self, said: dict[str, Any], data: dict[str, Any]) -> None:
        model = as_text(data.get("model")) or as_text(said.get("model"))
        self.facts["model"] = model or self.facts.get("model")
        usage = as_mapping(data.get("usage")) or as_mapping(said.get("usage"))
        if usage:
            self._builder.usage.add(
                self.facts.get("model") or "",
                input_tokens=usage.get("inputTokens"),
                output_tokens=usage.get("outputTokens"),
                cache_read_tokens=usage.get("cachedInputTokens"),
                reasoning_tokens=usage.get("reasoningTokens"),
            )


def _sort_block(pieces: MessagePieces, block: dict[str, Any]) -> None:
    kind = block.get("type")
    if kind == "text":
        pieces.add_text(block.get("text"))
    elif kind == "reasoning":
        pieces.add_thought(block.get("text") or block.get("reasoning"))
    elif kind == "tool-call":
        arguments = block.get("input", block.get("args", block.get("arguments")))
        pieces.add_call(
            block.get("toolCallId") or block.get("id"), block.get("toolName") or block.get("name"), arguments
        )
    elif kind == "tool-result":
        output = block.get("output", block.get("content", block.get("result")))
        value = as_mapping(output).get("value", output)
        failed = block.get("isError") is True or str(as_mapping(output).get("type")).startswith("error")
        pieces.add_output(block.get("toolCallId") or block.get("id"), value, is_error=failed)
    elif block:
        pieces.parts.append(block)


plugin = Plugin(name=NAME, summary="Imports the history of DeepSeek Harness.", sources=[DeepSeekHarnessImporter])
