"""The importer for Hermes: reads `state.db` of its home and of each profile, also while Hermes runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sojourn.core.errors import SourceUnreadable
from sojourn.core.messages import Message
from sojourn.core.sessions import DETAIL_FIELDS, Session
from sojourn.importers.hermes_history import is_json
from sojourn.importers.sqlite_reader import ForeignDb, list_columns, list_tables, query_rows
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.ports.plugin import Plugin
from sojourn.text.escape import from_bytes

_FILE = "state.db"
_STRUCTURED = "\0json:"
_TEXTS = (
    *("content", "tool_calls", "tool_call_id", "tool_name", "finish_reason", "reasoning", "reasoning_content"),
    *("reasoning_details", "codex_reasoning_items", "codex_message_items", "platform_message_id"),
    *("effect_disposition", "api_content"),
)
_KNOWN = {*_TEXTS, "id", "session_id", "role", "timestamp", "token_count", "observed", "active", "compacted"}
_SESSION_FIELDS = {*Session.__dataclass_fields__, *DETAIL_FIELDS} - {
    *("details", "principal", "tags", "preview", "last_active", "last_seq", "revision", "driver", "driver_fence"),
    *("extra", "handoff_state", "handoff_platform", "handoff_error", "source_home", "source_id"),
}
_NUMBERS = ("started_at", "ended_at", "estimated_cost_usd", "actual_cost_usd", "compression_failure_cooldown_until")


class HermesReader:
    """Reads one `state.db` by column name, because the schema differs between versions."""

    def __init__(self, db: ForeignDb) -> None:
        self._db = db

    def sessions(self) -> Iterator[SessionEntry]:
        def ask(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
            has, rows = list_columns(db, "sessions"), list_columns(db, "messages")
            facts = ", ".join(
                name if name in has else "NULL"
                for name in ("ended_at", "end_reason", "title", "archived", "rewind_count", "api_call_count")
            )
            live = "sum(active)" if "active" in rows else "count(*)"
            # An index covers this query, so that a repeated import is cheap.
            counts = (
                f"SELECT session_id, count(*) AS c, max(id) AS top, {live} AS live FROM messages GROUP BY session_id"
            )
            return db.execute(
                f"SELECT s.id, COALESCE(m.c, 0), COALESCE(m.top, 0), COALESCE(m.live, 0), {facts} FROM sessions s "
                f"LEFT JOIN ({counts}) m ON m.session_id = s.id ORDER BY s.started_at, s.rowid"
            ).fetchall()

        for row in self._db.query(ask):
            native = _to_text(row[0])
            if not native:
                yield SessionEntry(native_id=repr(row[0]), fingerprint="", problem="the session has no id")
                continue
            yield SessionEntry(native_id=native, fingerprint="|".join(str(_to_text(value)) for value in row[1:]))

    def read(self, native_id: str) -> Transcript:
        return self._db.query(lambda db: _read_transcript(db, native_id))


def _read_transcript(db: sqlite3.Connection, native: str) -> Transcript:
    session = next(query_rows(db, "SELECT * FROM sessions WHERE id = ?", native), None)
    if session is None:
        raise SourceUnreadable(f"Session {native} is gone from the history.", hint="It was deleted while we read.")
    fields = {name: _to_field(name, value) for name, value in session.items() if name in _SESSION_FIELDS}
    rest = {name: _to_text(v) for name, v in session.items() if name not in _SESSION_FIELDS and v is not None}
    tables = list_tables(db)
    if session.get("system_prompt_hash") and "system_prompts" in tables:
        prompts = query_rows(db, "SELECT prompt FROM system_prompts WHERE hash = ?", session["system_prompt_hash"])
        fields["system_prompt"] = _to_text(next((row["prompt"] for row in prompts), None))
    fields["usage"] = _read_usage(db, native) if "session_model_usage" in tables else ()
    fields["extra"] = json.dumps(rest, ensure_ascii=False) if rest else None
    fields["pinned"] = int(bool(session.get("pinned")))
    rows = query_rows(db, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", native)
    return Transcript(native_id=native, fields=fields, messages=[_to_message(row) for row in rows])


def _to_message(row: dict[str, Any]) -> Message:
    texts = {name: _to_text(row.get(name)) for name in _TEXTS}
    content = texts["content"] or ""
    structured = content.startswith(_STRUCTURED) and is_json(content.removeprefix(_STRUCTURED))
    if structured:
        texts["content"] = content.removeprefix(_STRUCTURED)
    rest = {name: _to_text(value) for name, value in row.items() if name not in _KNOWN and value is not None}
    timestamp, tokens, active = row.get("timestamp"), row.get("token_count"), row.get("active")
    return Message(
        role=_to_text(row["role"]) or "unknown",
        **texts,
        structured=structured,
        timestamp=float(timestamp) if isinstance(timestamp, int | float) else 0.0,
        token_count=tokens if isinstance(tokens, int) else None,
        observed=bool(row.get("observed")),
        active=True if active is None else bool(active),
        compacted=bool(row.get("compacted")),
        native_id=str(row["id"]),
        extra=json.dumps(rest, ensure_ascii=False) if rest else None,
    )


def _read_usage(db: sqlite3.Connection, native: str) -> tuple[dict[str, Any], ...]:
    rows = query_rows(db, "SELECT * FROM session_model_usage WHERE session_id = ?", native)
    return tuple({name: _to_text(v) if isinstance(v, bytes) else v for name, v in row.items()} for row in rows)


def _to_text(value: Any) -> Any:
    """A value as text; invalid UTF-8 is escaped, and other types are formatted as Python does."""
    if value is None or isinstance(value, str):
        return value
    return from_bytes(value) if isinstance(value, bytes) else str(value)


def _to_field(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return from_bytes(value)
    if name in _NUMBERS and value is not None and not isinstance(value, int | float):
        return None
    return value


class HermesImporter:
    """Imports sessions of Hermes."""

    name, label = "hermes", "Hermes"

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        home = Path(environment["HERMES_HOME"]) if environment.get("HERMES_HOME") else user_home / ".hermes"
        return [*self._inspect_all([home]), *self.profiles(home)]

    def profiles(self, home: Path) -> list[FoundHistory]:
        return self._inspect_all(sorted((home / "profiles").glob("*")))

    def _inspect_all(self, homes: list[Path]) -> list[FoundHistory]:
        return [found for home in homes if (found := self._inspect(home / _FILE))]

    def claims(self, path: Path) -> FoundHistory | None:
        return self._inspect(path / _FILE if path.is_dir() else path)

    def _inspect(self, path: Path) -> FoundHistory | None:
        if not path.is_file():
            return None
        size = path.stat().st_size
        home = path.parent if path.name == _FILE else path  # a copy under another name is a history of its own
        db = ForeignDb(path)
        try:
            version, sessions = db.query(_read_version)
        except SourceUnreadable as error:
            unreadable = FoundHistory(source=self.name, home=home, bytes=size, problem=str(error))
            return unreadable if path.name == _FILE else None
        finally:
            db.close()
        if not version:
            return None
        return FoundHistory(source=self.name, home=home, sessions=sessions, bytes=size, version=f"schema {version}")

    @contextmanager
    def open(self, home: Path) -> Iterator[HermesReader]:
        db = ForeignDb(home if home.is_file() else home / _FILE)
        try:
            yield HermesReader(db)
        finally:
            db.close()


def _read_version(db: sqlite3.Connection) -> tuple[int, int]:
    """The schema version and the number of sessions; version 0 if this is not a database of Hermes."""
    if not {"sessions", "messages", "schema_version"} <= list_tables(db):
        return 0, 0
    version = db.execute("SELECT max(version) FROM schema_version").fetchone()[0] or 1
    return int(version), int(db.execute("SELECT count(*) FROM sessions").fetchone()[0])


plugin = Plugin(name="hermes", summary="Imports the history of Hermes Agent.", sources=[HermesImporter])
