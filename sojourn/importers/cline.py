"""Cline, Roo Code and Kilo Code: one format of Anthropic messages, in the folders of editors and of Cline's own CLI.

<editor>/User/globalStorage/<extension>/tasks/<id>/api_conversation_history.json     an array of messages
~/.cline/data/sessions/<id>/<id>.json and <id>.messages.json                         the newer Cline
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import (
    FileImporter,
    StoredSession,
    inspect_file,
    read_document,
    read_side_document,
)
from sojourn.importers.message_pieces import list_extra, sort_blocks
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    get_plain_text,
    make_title,
    to_json,
    to_seconds,
)
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin

_HISTORY = "api_conversation_history.json"
_EDITORS = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_TASK = re.compile(r"\A\s*<task>\n?(.*?)\n?</task>", re.DOTALL)
_AUTOMATIC = re.compile(r"\s*(?:<environment_details>|\[ERROR\]|\[TASK RESUMPTION\])")
_KNOWN = ("role", "content", "ts", "id", "metrics", "modelInfo")


class _TaskImporter(FileImporter):
    """Imports the tasks of one extension."""

    extension: ClassVar[str]

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        roots = [
            user_home / ".config",
            user_home / "Library" / "Application Support",
            Path(environment.get("APPDATA") or user_home / "AppData" / "Roaming"),
        ]
        return [root / editor / "User" / "globalStorage" / self.extension for root in roots for editor in _EDITORS]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if self.extension not in home.parts:
            return
        if home.is_file():
            found = [home] if home.name == _HISTORY else []
        else:
            root = home if home.name == "tasks" else home / "tasks"
            found = sorted((*root.glob(f"*/{_HISTORY}"), *home.glob(_HISTORY)))
        for path in found:
            yield inspect_file(path.parent.name, path, path.with_name("history_item.json"))

    def read_session(self, one: StoredSession) -> Transcript:
        item = read_side_document(one.path.with_name("history_item.json")) or _find_item(one.path)
        return _read_messages(self.name, one, read_document(one.path), item)


def _find_item(path: Path) -> dict[str, Any]:
    """The entry of a task in the list that the extension keeps of all of them."""
    try:
        listed = as_list(read_document(path.parents[2] / "state" / "taskHistory.json"))
    except SourceUnreadable:
        return {}  # what it says is lost, the task is not
    return next((one for one in map(as_mapping, listed) if str(one.get("id")) == path.parent.name), {})


def _read_messages(source: str, one: StoredSession, listed: Any, item: dict[str, Any]) -> Transcript:
    if not isinstance(listed, list):
        raise TypeError("its messages are not a list")
    builder = TranscriptBuilder(to_seconds(item.get("ts")) or one.began)
    for number, record in enumerate(map(as_mapping, listed), 1):
        _add_message(builder, str(number), record)
    if any(key in item for key in ("tokensIn", "tokensOut")):
        builder.usage.add(
            as_text(item.get("modelId")) or "",
            input_tokens=item.get("tokensIn"),
            output_tokens=item.get("tokensOut"),
            cache_read_tokens=item.get("cacheReads"),
            cache_write_tokens=item.get("cacheWrites"),
            cost=float(cost) if isinstance(cost := item.get("totalCost"), int | float) else None,
        )
    if item:
        builder.add_record("task", to_json(item))
    prompts = (message.content for message in builder.messages if message.role == "user" and message.content)
    task = as_text(item.get("title")) or as_text(item.get("task")) or next(prompts, "")
    fields = {
        "source": source,
        "title": make_title(_strip_task(task)),
        "cwd": as_text(item.get("cwdOnTaskInitialization")) or as_text(item.get("workspace")) or item.get("cwd"),
        "model": as_text(item.get("modelId")),
        "started_at": builder.messages[0].timestamp if builder.messages else one.began,
    }
    return builder.build(one.native_id, fields)


def _strip_task(text: str) -> str:
    found = _TASK.match(text)
    return found[1] if found else text


def _add_message(builder: TranscriptBuilder, native: str, record: dict[str, Any]) -> None:
    pieces, when = sort_blocks(record.get("content")), to_seconds(record.get("ts"))
    role = str(record.get("role") or "")
    extra = list_extra(record, _KNOWN)
    if role == "user":
        added = [part for part in pieces.parts if _AUTOMATIC.match(get_plain_text(part) or "")]
        pieces.parts = [part for part in pieces.parts if part not in added]
        typed, pieces.parts = pieces.parts, []
        is_known = pieces.add_to(builder, "user", native, when)  # outputs come first: their calls are right before
        pieces.outputs, pieces.parts = [], typed
        is_known |= pieces.add_to(builder, "user", native, when, **extra)
        pieces.parts = added
        is_known |= pieces.add_to(builder, "system", native, when)
    else:
        is_known = pieces.add_to(builder, "assistant" if role == "assistant" else "system", native, when, **extra)
    if not is_known:
        builder.add_unknown(role or "message", to_json(record))


class ClineImporter(_TaskImporter):
    """Imports tasks of Cline: of the extension, and of its newer versions with sessions."""

    name, label, extension = "cline", "Cline", "saoudrizwan.claude-dev"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        data = environment.get("CLINE_DATA_DIR") or Path(environment.get("CLINE_DIR") or user_home / ".cline") / "data"
        sessions = environment.get("CLINE_SESSION_DATA_DIR") or Path(data) / "sessions"
        return [*super().list_places(user_home, environment), Path(sessions)]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        yield from super().list_sessions(home)
        found = sorted(home.glob("*/*.messages.json")) if home.is_dir() else [home] if home.is_file() else []
        for path in found:
            name = path.name.removesuffix(".messages.json")
            if name == path.parent.name:
                yield inspect_file(name, path, path.with_name(f"{name}.json"))

    def read_session(self, one: StoredSession) -> Transcript:
        if one.path.name == _HISTORY:
            return super().read_session(one)
        item = read_side_document(one.path.with_name(f"{one.native_id}.json"))
        about = {"ts": item.get("started_at") or item.get("created_at"), "workspace": item.get("workspace_root")}
        title = as_mapping(item.get("metadata")).get("title") or item.get("prompt")
        return _read_messages(
            self.name, one, as_mapping(read_document(one.path)).get("messages"), {**item, **about, "title": title}
        )


class RooImporter(_TaskImporter):
    """Imports tasks of Roo Code."""

    name, label, extension = "roo", "Roo Code", "rooveterinaryinc.roo-cline"


class KiloImporter(_TaskImporter):
    """Imports tasks of Kilo Code before it took over the format of opencode."""

    name, label, extension = "kilo", "Kilo Code", "kilocode.kilo-code"


plugin = Plugin(
    name="cline",
    summary="Imports the tasks of Cline, Roo Code and Kilo Code.",
    sources=[ClineImporter, RooImporter, KiloImporter],
)
