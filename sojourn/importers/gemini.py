"""Gemini CLI: JSON lines under `~/.gemini/tmp/<project>/chats/`, older versions one JSON document per session.

A message is written again, under the same id, when its tokens and tool results arrive: the last one counts. `$set`
changes the session or replaces all messages; `$rewindTo` takes back a message and all behind it, which stay as undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.importers.google_parts import sort_google_parts
from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_document, read_start
from sojourn.importers.jsonl import JsonLinesFile
from sojourn.importers.message_pieces import MessagePieces, Output, list_extra
from sojourn.importers.regular_file import read_regular
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    make_title,
    to_count,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

NAME = "gemini"
_SESSION = re.compile(rb'"sessionId":\s*"([^"]+)"')
_KNOWN = ("id", "timestamp", "type", "content", "model", "thoughts", "tokens", "toolCalls")
_CONTEXT = "<session_context>"  # with which the program introduces itself, in the person's name
_ROLES = {"user": "user", "gemini": "assistant"}


class GeminiImporter(FileImporter):
    """Imports sessions of Gemini CLI."""

    name, label = NAME, "Gemini CLI"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("GEMINI_CLI_HOME") or user_home) / ".gemini"]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            found = [home] if home.name.startswith("session-") and home.parent.name == "chats" else []
        else:
            patterns = ("tmp/*/chats", "*/chats", "chats")
            folders = next((some for one in patterns if (some := sorted(home.glob(one)))), [])
            found = [path for folder in folders for path in _list_files(folder)]
        for native, (path, *more) in _group_files(found).items():
            parent = path.parent.name if path.parent.parent.name == "chats" else ""
            yield inspect_file(native, path, *more, parent=parent)

    def read_session(self, one: StoredSession) -> Transcript:
        log = _ChatLog()
        paths = _group_files(_list_files(one.path.parent))[one.native_id] if not one.parent else [one.path]
        lines = [JsonLinesFile(path) for path in paths if path.suffix == ".jsonl"]
        for record in (line.record for file in lines for line in file):
            log.add(record)
        if not lines:
            log.add(as_mapping(read_document(one.path)))
        builder = TranscriptBuilder(to_seconds(log.head.get("startTime")) or one.began)
        answered: set[str] = set()
        for record in log.messages.values():
            _add_message(builder, record, answered, is_undone=str(record.get("id")) in log.undone)
        builder.add_record("session", to_json(log.head))
        fields = {
            "source": "subagent" if one.parent or log.head.get("kind") == "subagent" else NAME,
            "parent_session_id": one.parent or None,
            "title": as_text(log.head.get("summary")) or make_title(log.find_prompt()),
            "cwd": _find_folder(one.path, log.head),
            "model": log.find_model(),
            "started_at": to_seconds(log.head.get("startTime")) or one.began,
        }
        return builder.build(one.native_id, fields, *lines)


def _group_files(paths: list[Path]) -> dict[str, list[Path]]:
    """The files of each session in their order: the program begins another one when a session is resumed."""
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(read_start(path, _SESSION) or path.stem, []).append(path)
    return found


def _list_files(folder: Path) -> list[Path]:
    """JSON lines before documents: of a session that has both, the document is the older form."""
    found = [*folder.glob("session-*.jsonl"), *folder.glob("*/*.jsonl"), *folder.glob("session-*.json")]
    return sorted(found, key=lambda path: (path.suffix == ".json", path.name))


class _ChatLog:
    """What is left of a session after all its lines."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.undone: set[str] = set()

    def add(self, record: dict[str, Any]) -> None:
        changes = as_mapping(record.get("$set"))
        if "$rewindTo" in record:
            ids = list(self.messages)
            start = ids.index(str(record["$rewindTo"])) if str(record["$rewindTo"]) in self.messages else len(ids)
            self.undone.update(ids[start:])
        elif changes:
            if isinstance(changes.get("messages"), list) and not _is_introduction(changes["messages"]):
                self.undone.update(self.messages)
            if isinstance(changes.get("messages"), list):
                self._add_messages(changes["messages"])
            self.head |= {key: value for key, value in changes.items() if key != "messages"}
        elif "sessionId" in record:
            self.head |= {key: value for key, value in record.items() if key != "messages"}
            self._add_messages(record.get("messages"))
        else:
            self._add_messages([record])

    def _add_messages(self, records: Any) -> None:
        for one in as_list(records):
            if isinstance(one, dict):
                own = str(one.get("id") or f"message-{len(self.messages) + 1}")
                self.messages[own] = one | {"id": own}
                self.undone.discard(own)

    def find_prompt(self) -> str:
        typed = (one for one in self.messages.values() if one.get("type") == "user")
        texts = (text for one in typed for text in sort_google_parts(one.get("content")).list_texts())
        return next((text for text in texts if not text.startswith(_CONTEXT)), "")

    def find_model(self) -> str | None:
        models = [model for one in self.messages.values() if (model := as_text(one.get("model")))]
        return models[-1] if models else None


def _is_introduction(messages: list[Any]) -> bool:
    """Whether a list is only the program's introduction: a resumed session's next file begins so."""
    parts = [sort_google_parts(as_mapping(one).get("content")).list_texts() for one in messages]
    return len(parts) == 1 and any(text.startswith(_CONTEXT) for text in parts[0])


def _add_message(builder: TranscriptBuilder, record: dict[str, Any], answered: set[str], *, is_undone: bool) -> None:
    pieces, when = sort_google_parts(record.get("content")), to_seconds(record.get("timestamp"))
    for thought in map(as_mapping, as_list(record.get("thoughts"))):
        pieces.add_thought("\n".join(filter(None, (as_text(thought.get(key)) for key in ("subject", "description")))))
    for call in map(as_mapping, as_list(record.get("toolCalls"))):
        if str(call.get("id") or "") not in {one.id for one in pieces.calls}:
            pieces.add_call(call.get("id"), call.get("name"), call.get("args"))
        results = sort_google_parts(call.get("result")).outputs
        for _, parts, is_error in results:
            pieces.outputs.append((str(call.get("id") or ""), parts, is_error or call.get("status") == "error"))
        if not results and call.get("result") is not None:
            pieces.add_output(call.get("id"), call.get("resultDisplay"), is_error=call.get("status") == "error")
    start, outputs = len(builder.messages), pieces.outputs
    is_output, pieces.outputs = bool(outputs), []
    role = _ROLES.get(str(record.get("type")), "system")
    if role == "user" and any(text.startswith(_CONTEXT) for text in pieces.list_texts()):
        role = "system"
    has_words = pieces.add_to(builder, role, str(record["id"]), when, **list_extra(record, _KNOWN))
    _add_outputs(builder, outputs, when, answered)
    if not has_words and not is_output:
        builder.add_unknown(str(record.get("type") or "record"), to_json(record))
    if is_undone:
        builder.mark_undone(start)
    if tokens := as_mapping(record.get("tokens")):
        cached = to_count(tokens.get("cached"))
        builder.usage.add(
            as_text(record.get("model")) or "",
            provider="google",
            input_tokens=max(0, to_count(tokens.get("input")) - cached),
            cache_read_tokens=cached,
            output_tokens=tokens.get("output"),
            reasoning_tokens=tokens.get("thoughts"),
        )


def _add_outputs(builder: TranscriptBuilder, outputs: list[Output], when: float, answered: set[str]) -> None:
    """Adds outputs once: a call holds its own, and a message to the model repeats them."""
    for one in outputs:
        if one[0] not in answered:
            answered.add(one[0])
            MessagePieces(outputs=[one]).add_to(builder, "tool", f"output-{one[0]}", when)


def _find_folder(path: Path, head: dict[str, Any]) -> str | None:
    """The folder of the project: in a file beside the chats, or in the session itself."""
    project = path.parent.parent if path.parent.name == "chats" else path.parent.parent.parent
    try:
        return read_regular(project / ".project_root").decode("utf-8", "replace").strip() or None
    except OSError:
        return next((one for one in as_list(head.get("directories")) if as_text(one)), None)


plugin = Plugin(name=NAME, summary="Imports the history of Gemini CLI.", sources=[GeminiImporter])
