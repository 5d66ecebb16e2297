"""OpenClaw: a database of each agent, `agents/<agent>/agent/openclaw-agent.sqlite`, and the JSON lines before it.

Both hold lines in pi's form. The database keeps large ones compressed. Credentials beside them are not read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.history_importer import FileImporter, StoredSession, inspect_file, read_start
from sojourn.importers.jsonl import JsonLinesFile, parse_object
from sojourn.importers.pi_entries import add_entries
from sojourn.importers.regular_file import MAX_LINE_BYTES
from sojourn.importers.sqlite_reader import ForeignDb, list_tables, query_rows
from sojourn.importers.transcript_builder import TranscriptBuilder, as_mapping, as_text, to_json, to_seconds
from sojourn.ports.importer import Transcript
from sojourn.ports.plugin import Plugin
from sojourn.text.escape import from_bytes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

NAME = "openclaw"
_DATABASE = "openclaw-agent.sqlite"
_SESSION = re.compile(rb'\A\s*\{\s*"type":\s*"session"[^\n]*?"id":\s*"([^"]+)"')
_LEFT = re.compile(r"\.jsonl\.(?:reset|deleted)\.[^/]*\Z")  # what a reset or a deletion left
_PREAMBLE = re.compile(r"\A(?:[^\n]{1,80} \(untrusted[^\n]*\):\n```json\n.*?\n```\n+)+", re.DOTALL)
_OWN_MODELS = ("delivery-mirror", "gateway-injected")  # answers that the gateway writes once more


class OpenClawImporter(FileImporter):
    """Imports sessions of OpenClaw."""

    name, label = NAME, "OpenClaw"

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        return [Path(environment.get("OPENCLAW_STATE_DIR") or user_home / ".openclaw")]

    def list_sessions(self, home: Path) -> Iterator[StoredSession]:
        if home.is_file():
            databases = [home] if home.name == _DATABASE else []
            files = [home] if ".jsonl" in home.name and "agents" in home.parts else []
        else:
            databases = sorted(home.glob(f"agents/*/agent/{_DATABASE}"))
            files = sorted(home.glob("agents/*/sessions/*.jsonl*"))
        for path in databases:
            yield from _list_database(path)
        live = [path for path in files if path.name.endswith(".jsonl") and ".checkpoint." not in path.name]
        for path in (*live, *(path for path in files if _LEFT.search(path.name))):
            yield inspect_file(read_start(path, _SESSION) or path.name.partition(".")[0], path)

    def read_session(self, one: StoredSession) -> Transcript:
        if one.path.name == _DATABASE:
            with _Database(one.path) as database:
                return database.query(lambda db: _read_rows(db, one))
        file, builder = JsonLinesFile(one.path), TranscriptBuilder(one.began)
        entries = [line.record for line in file]
        return _build(one, builder, entries, {}, None, file)


class _Database(ForeignDb):
    """A database that is closed at the end of a `with` block."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, text_factory=from_bytes)

    def __enter__(self) -> _Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _list_database(path: Path) -> list[StoredSession]:
    try:
        with _Database(path) as database:
            return database.query(lambda db: list(_list_rows(db, path)))
    except SourceUnreadable as error:
        return [StoredSession(native_id=path.parents[1].name, path=path, problem=str(error))]


def _list_rows(db: Connection, path: Path) -> Iterator[StoredSession]:
    if not {"transcript_events", "session_windows"} <= list_tables(db):
        return
    windows = {str(row["session_id"]): row for row in query_rows(db, "SELECT * FROM session_windows")}
    grouped = (
        "SELECT session_id, count(*) AS n, max(seq) AS last, min(created_at) AS began, sum(length(event_json)) AS size "
        "FROM transcript_events GROUP BY session_id"
    )
    for row in query_rows(db, grouped):
        window = windows.get(str(row["session_id"]), {})
        yield StoredSession(
            native_id=str(row["session_id"]),
            path=path,
            fingerprint=f"{row['n']}:{row['last']}:{window.get('display_name')}:{window.get('ended_at')}",
            began=to_seconds(window.get("started_at")) or to_seconds(row["began"]),
            parent=as_text(window.get("previous_session_id")) or "",
            size=row["size"] or 0,
        )


def _read_rows(db: Connection, one: StoredSession) -> Transcript:
    builder = TranscriptBuilder(one.began)
    entries: list[dict[str, Any]] = []
    events = "SELECT * FROM transcript_events WHERE session_id = ? ORDER BY seq"
    by_seq: dict[Any, str] = {}
    for row in query_rows(db, events, one.native_id):
        entry = _unpack(builder, row)
        if entry is not None:
            entries.append(entry)
            by_seq[row["seq"]] = str(entry.get("id") or "")
    leaf = None
    if "session_transcript_active_events" in list_tables(db):
        active = "SELECT event_seq FROM session_transcript_active_events WHERE session_id = ? ORDER BY active_position"
        leaf = next((by_seq.get(seq) for (seq,) in reversed(db.execute(active, (one.native_id,)).fetchall())), None)
    [window] = [*query_rows(db, "SELECT * FROM session_windows WHERE session_id = ?", one.native_id), {}][:1]
    node = next(query_rows(db, "SELECT * FROM session_nodes WHERE session_key = ?", window.get("session_key")), {})
    return _build(one, builder, entries, {**node, **{k: v for k, v in window.items() if v is not None}}, leaf)


def _unpack(builder: TranscriptBuilder, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The entry of a row, unpacked if it is a large one."""
    text: str | bytes = row.get("event_json") or ""
    if not text and isinstance(packed := row.get("event_zstd"), bytes):
        try:
            text = zstd.ZstdDecompressor().decompress(packed, MAX_LINE_BYTES)
        except zstd.ZstdError as error:
            builder.warnings.append(f"event {row.get('seq')} cannot be unpacked: {error}")
            return None
    entry = parse_object(text)
    if entry is None:
        builder.warnings.append(f"event {row.get('seq')} cannot be read; it is stored unchanged")
        builder.add_record("unreadable", text if isinstance(text, str) else from_bytes(text))
    return entry


def _build(
    one: StoredSession,
    builder: TranscriptBuilder,
    entries: list[dict[str, Any]],
    about: dict[str, Any],
    leaf: str | None,
    *files: JsonLinesFile,
) -> Transcript:
    for entry in entries:
        _clean(entry)
    kept = [entry for entry in entries if not _is_repeated(entry)]
    facts = add_entries(builder, kept, leaf)
    facts.pop("parent", None)
    is_helper = bool(about.get("spawned_by"))
    fields = {
        **facts,
        "source": "subagent" if is_helper else NAME,
        "parent_session_id": one.parent or None,
        "title": as_text(about.get("label")) or as_text(about.get("display_name")) or facts.get("title"),
        "model": facts.get("model") or as_text(about.get("model")),
        "archived": int(bool(about.get("archived_at"))),
        "started_at": facts.get("started_at") or one.began,
    }
    if about:
        builder.add_record("session_window", to_json({k: v for k, v in about.items() if not isinstance(v, bytes)}))
    return builder.build(one.native_id, fields, *files)


def _is_repeated(entry: dict[str, Any]) -> bool:
    message = as_mapping(entry.get("message"))
    return entry.get("type") == "message" and message.get("model") in _OWN_MODELS


def _clean(entry: dict[str, Any]) -> None:
    """Takes what the gateway puts before the words of a person out of them."""
    message = as_mapping(entry.get("message"))
    if message.get("role") != "user":
        return
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        if isinstance(text := as_mapping(block).get("text"), str):
            block["text"] = _PREAMBLE.sub("", text)
    if isinstance(content, str):
        message["content"] = _PREAMBLE.sub("", content)


plugin = Plugin(name=NAME, summary="Imports the history of OpenClaw.", sources=[OpenClawImporter])
