"""Open WebUI: the database `webui.db`, and the JSON files that it exports.

A chat is a tree. Newer versions keep each message in a row of `chat_message`, which wins over the copy in `chat`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from types import MappingProxyType
from typing import Any

from sojourn.importers.export_importer import ExportImporter
from sojourn.importers.history_importer import DatabaseImporter, StoredSession
from sojourn.importers.jsonl import parse_object
from sojourn.importers.message_pieces import MessagePieces, list_extra
from sojourn.importers.message_tree import order_tree
from sojourn.importers.sqlite_reader import list_tables, query_rows
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin
from sojourn.text.html_entities import unescape_html

NAME, EXPORT_NAME = "open-webui", "open-webui-export"
_ROLES = ("user", "assistant", "tool")
_KNOWN = (
    *("id", "chat_id", "user_id", "role", "parentId", "parent_id", "childrenIds", "content", "output", "timestamp"),
    *("created_at", "updated_at", "model", "model_id", "modelIdx", "modelName", "models", "done", "usage", "files"),
)
_PACKAGES = ("open_webui/data", "open_webui/backend/data")
_VENVS = (".local/share/uv/tools/open-webui", ".local/pipx/venvs/open-webui", ".local", ".venv", "venv")
_DETAILS = re.compile(r'<details type="(reasoning|tool_calls)"([^>]*)>(.*?)</details>\n?', re.DOTALL)
_SUMMARY = re.compile(r"(?<!\s)\s*+<summary>[^<]{0,500}</summary>\n?", re.DOTALL)
_ATTRIBUTE = re.compile(r'\b(\w++)="([^"]*)"')


class OpenWebUiImporter(DatabaseImporter):
    """Imports the chats of a server of Open WebUI."""

    name, label = NAME, "Open WebUI"
    file_name, columns = "webui.db", MappingProxyType({"chat": "chat"})

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        venvs = [user_home / one for one in _VENVS]
        inside = [
            found
            for venv in venvs
            for package in _PACKAGES
            for found in sorted(venv.glob(f"lib/python3*/site-packages/{package}"))
        ]
        folders = [user_home / ".open-webui", user_home / "open-webui", *inside]
        return [folder / self.file_name for folder in folders]

    def list_rows(self, db: Connection, path: Path) -> Iterator[StoredSession]:
        counts: dict[str, tuple[int, Any]] = {}
        if "chat_message" in list_tables(db):
            counted = "SELECT chat_id, count(*), max(updated_at) FROM chat_message GROUP BY chat_id"
            counts = {str(own): (number, last) for own, number, last in db.execute(counted)}
        columns = "id, title, created_at, updated_at, archived, length(chat) AS size"
        for row in query_rows(db, f"SELECT {columns} FROM chat"):
            marks = (row["updated_at"], row["size"], row["title"], row["archived"], *counts.get(row["id"], ()))
            yield StoredSession(
                native_id=str(row["id"]),
                path=path,
                fingerprint=":".join(map(str, marks)),
                began=to_seconds(row["created_at"]),
            )

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        [row] = query_rows(db, "SELECT * FROM chat WHERE id = ?", one.native_id)
        messages: dict[str, dict[str, Any]] = {}
        if "chat_message" in list_tables(db):
            said = "SELECT * FROM chat_message WHERE chat_id = ? ORDER BY created_at, rowid"
            for message in query_rows(db, said, one.native_id):
                own = str(message["id"]).removeprefix(f"{one.native_id}-")
                messages[own] = {key: _decode(value) for key, value in message.items()}
        chat = parse_object(row.get("chat") or "")
        if chat is None and not messages:
            raise ValueError(f"chat {one.native_id} is not JSON")
        head = {**row, "meta": parse_object(row.get("meta") or "")}
        return _read_chat(one.native_id, head, chat or {}, messages)


class OpenWebUiExportImporter(ExportImporter):
    """Imports an export of Open WebUI."""

    name, label = EXPORT_NAME, "Open WebUI export"
    file_pattern = r"(?:all-)?chats?-export-\d+\.json"

    def is_conversation(self, record: Mapping[str, Any]) -> bool:
        return "history" in as_mapping(record.get("chat"))

    def get_id(self, record: Mapping[str, Any]) -> str | None:
        return as_text(record.get("id"))

    def get_start(self, record: Mapping[str, Any]) -> float:
        return to_seconds(record.get("created_at"))

    def read_conversation(self, native_id: str, record: dict[str, Any]) -> Transcript:
        return _read_chat(native_id, record, as_mapping(record["chat"]), {})


def _decode(value: Any) -> Any:
    """The JSON value of a column; the text itself if it is none."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        found = parse_object(f'{{"value": {value}}}')
        return found["value"] if found else value
    return value


def _read_chat(
    native_id: str, row: Mapping[str, Any], chat: dict[str, Any], messages: dict[str, dict[str, Any]]
) -> Transcript:
    history = as_mapping(chat.get("history"))
    if not messages:
        if not isinstance(history.get("messages"), dict):
            raise TypeError("its messages are not an object")
        messages = {own: as_mapping(one) for own, one in history["messages"].items()}
    parents = {own: as_text(one.get("parentId")) or as_text(one.get("parent_id")) for own, one in messages.items()}
    leaf = as_text(row.get("current_message_id")) or as_text(history.get("currentId"))
    builder, models = TranscriptBuilder(to_seconds(row.get("created_at"))), list[str]()
    for own, is_active in order_tree(parents, leaf):
        start = len(builder.messages)
        _add_message(builder, own, messages[own], models)
        if not is_active:
            builder.mark_undone(start)
    listed = [text for one in as_list(chat.get("models")) if (text := as_text(one))]
    fields = {
        "source": NAME,
        "title": as_text(row.get("title")) or as_text(chat.get("title")),
        "model": next(reversed(models or listed), None),
        "archived": int(bool(row.get("archived"))),
        "started_at": to_seconds(row.get("created_at")) or builder.clock,
    }
    kept = {key: value for key, value in chat.items() if key not in ("history", "messages")}
    about = {key: value for key, value in row.items() if key not in ("chat", "user_id")}
    builder.add_record("chat", to_json({**about, "chat": kept}))
    return builder.build(native_id, fields)


def _add_message(builder: TranscriptBuilder, own: str, message: dict[str, Any], models: list[str]) -> None:
    role, output = str(message.get("role") or ""), as_list(message.get("output"))
    steps = [_sort_output(step) for step in _split_steps(output)] or [MessagePieces()]
    pieces = steps[-1]
    if not any(step.list_texts() for step in steps):
        for part in as_parts(message.get("content")):
            _add_part(pieces, part, has_output=bool(output))
    pieces.parts += [{"type": "file", **as_mapping(one)} for one in as_list(message.get("files"))]
    model = as_text(message.get("model")) or as_text(message.get("model_id"))
    if role == "assistant":
        models += [model] if model else []
        _add_usage(builder, message, model or "")
    when = to_seconds(message.get("timestamp")) or to_seconds(message.get("created_at"))
    known, extra = role if role in _ROLES else "system", list_extra(message, _KNOWN)
    added = [step.add_to(builder, known, own, when, **({} if at else extra)) for at, step in enumerate(steps)]
    if not any(added):
        builder.add_record("message", to_json(message))


def _split_steps(output: list[Any]) -> Iterator[list[dict[str, Any]]]:
    """What follows the results of tools is the next step."""
    step: list[dict[str, Any]] = []
    for item in map(as_mapping, output):
        if step and step[-1].get("type") == "function_call_output" and item.get("type") != "function_call_output":
            yield step
            step = []
        step.append(item)
    if step:
        yield step


def _add_part(pieces: MessagePieces, part: Any, *, has_output: bool) -> None:
    text = as_text(as_mapping(part).get("text"))
    if text is None:
        pieces.parts += [part] if isinstance(part, dict) and part else []
        return
    if not has_output:
        for number, (kind, attributes, body) in enumerate(_DETAILS.findall(text), 1):
            _add_details(pieces, kind, dict(_ATTRIBUTE.findall(attributes)), body, number)
    pieces.add_text(_DETAILS.sub("", text).strip("\n"))


def _add_details(pieces: MessagePieces, kind: str, given: dict[str, str], body: str, number: int) -> None:
    """Older versions store thoughts and calls as HTML inside the text."""
    if kind == "reasoning":
        lines = unescape_html(_SUMMARY.sub("", body)).strip().splitlines()
        pieces.add_thought("\n".join(line.removeprefix(">").removeprefix(" ") for line in lines))
        return
    own = given.get("id") or f"call-{number}"
    pieces.add_call(own, given.get("name"), _unquote(given.get("arguments", "")))
    if "result" in given:
        pieces.add_output(own, _unquote(given["result"]))


def _unquote(text: str) -> str:
    plain = unescape_html(text)
    inner = parse_object(f'{{"value": {plain}}}')
    return inner["value"] if inner and isinstance(inner["value"], str) else plain


def _sort_output(step: list[dict[str, Any]]) -> MessagePieces:
    """A step of an answer in the form of OpenAI's Responses."""
    pieces = MessagePieces()
    for item in step:
        kind = item.get("type")
        texts = [one.get("text") for one in map(as_mapping, as_parts(item.get("content") or item.get("summary")))]
        if kind == "reasoning":
            pieces.add_thought("\n".join(filter(None, map(as_text, texts))))
        elif kind == "function_call":
            pieces.add_call(item.get("call_id") or item.get("id"), item.get("name"), item.get("arguments"))
        elif kind == "function_call_output":
            output = [
                {**part, "type": "text"} if as_mapping(part).get("type") == "input_text" else part
                for part in as_parts(item.get("output"))
            ]
            pieces.add_output(item.get("call_id"), output, is_error=item.get("status") == "failed")
        elif kind == "message":
            for text in texts:
                pieces.add_text(text)
        elif item:
            pieces.parts.append(item)
    return pieces


def _add_usage(builder: TranscriptBuilder, message: dict[str, Any], model: str) -> None:
    """Counts in the words of OpenAI or of Ollama."""
    usage = as_mapping(message.get("usage")) or as_mapping(as_mapping(message.get("info")).get("usage"))
    if usage:
        cached = as_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
        used = usage.get("prompt_tokens") or usage.get("input_tokens") or usage.get("prompt_eval_count")
        builder.usage.add(
            model,
            input_tokens=used - cached if isinstance(used, int) and isinstance(cached, int) else used,
            output_tokens=usage.get("completion_tokens") or usage.get("output_tokens") or usage.get("eval_count"),
            cache_read_tokens=cached,
            reasoning_tokens=as_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"),
        )


plugin = Plugin(
    name=NAME, summary="Imports the chats of Open WebUI.", sources=[OpenWebUiImporter, OpenWebUiExportImporter]
)
