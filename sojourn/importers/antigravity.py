"""Antigravity: `~/.gemini/antigravity*/brain/<id>/.system_generated/logs/transcript.jsonl`, a line for each step.

The streams beside it (`conversations/*.pb`) are encrypted and not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "antigravity"
_TRANSCRIPT = ".system_generated/logs/transcript.jsonl"
_WRAPPED = re.compile(r"\A\s*<USER_REQUEST>\n?(.*?)\n?</USER_REQUEST>\s*\Z", re.DOTALL)
_METADATA = re.compile(r"(?<!\s)\s*+<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>.*?</\1>\s*", re.DOTALL)
_SAID = ("USER_INPUT", "PLANNER_RESPONSE", "NOTIFY_USER", "")
_KNOWN = ("source", "type", "created_at", "content", "thinking", "tool_calls", "step_index", "status")


class AntigravityImporter(FileImporter):
    """Imports conversations of Antigravity."""

    name, label = NAME, "Antigravity"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        root = Path(environment.get("GEMINI_CLI_HOME") or user_home) / ".gemini"
        return sorted(root.glob("antigravity*"))

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.as_posix().endswith(f"/{_TRANSCRIPT}") else []
        else:
            found = sorted(home.glob(f"brain/*/{_TRANSCRIPT}"))
        for path in found:
            yield inspect_file(path.parents[2].name, path)

    def read_session(self, one: StoredSession) -> Transcript:
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        waiting: list[str] = []  # ids of the calls whose steps are still to come, in their order
        for line in file:
            _add_step(builder, line.number, line.record, waiting)
        prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
        fields = {"source": NAME, "title": make_title(next(prompts, "")), "started_at": one.began}
        return builder.build(one.native_id, fields, file)


def _add_step(builder: TranscriptBuilder, number: int, record: dict[str, Any], waiting: list[str]) -> None:
    source, kind = str(record.get("source") or ""), str(record.get("type") or "")
    index = record.get("step_index")
    own = f"step-{index}" if isinstance(index, int) and not isinstance(index, bool) else f"line-{number}"
    pieces, role = MessagePieces(), "system"
    if source == "MODEL" and kind not in _SAID and waiting:  # what a tool did
        failed = record.get("status") in ("ERROR", "CANCELED")
        pieces.add_output(waiting.pop(0), as_text(record.get("content")) or "", is_error=failed)
    else:
        role = {"USER_EXPLICIT": "user", "MODEL": "assistant"}.get(source, "system")
        text = as_text(record.get("content")) or ""
        pieces.add_text(_unwrap(text) if role == "user" else text)
        pieces.add_thought(record.get("thinking"))
        calls = [as_mapping(one) for one in as_list(record.get("tool_calls"))]
        for at, call in enumerate(calls, 1):
            pieces.add_call(f"{own}:{at}", call.get("name"), call.get("args"))
        if calls:
            waiting[:] = [f"{own}:{at}" for at in range(1, len(calls) + 1)]
    if not source and not kind:
        builder.add_unknown("line", to_json(record))
    elif not source:
        builder.add_unknown(kind, to_json(record))
    elif not pieces.add_to(builder, role, own, to_seconds(record.get("created_at")), **list_extra(record, _KNOWN)):
        builder.add_record(kind or source, to_json(record))


def _unwrap(text: str) -> str:
    """What a person wrote, without what the program put around it."""
    bare = _METADATA.sub("\n", text)
    wrapped = _WRAPPED.match(bare)
    return (wrapped[1] if wrapped else bare).strip()


plugin = Plugin(name=NAME, summary="Imports the conversations of Antigravity.", sources=[AntigravityImporter])
