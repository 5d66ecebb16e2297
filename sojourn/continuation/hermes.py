"""Hermes: rows in its `state.db`, beside those that are there."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sojourn.continuation.conversation import Entry, PastConversation
from sojourn.continuation.native_session import NativeSession
from sojourn.core.errors import NotFound, SourceUnreadable
from sojourn.core.settings import Settings

_WAIT_SECONDS = 20.0  # Hermes may be writing


def build_session(conversation: PastConversation, settings: Settings) -> NativeSession:
    home = Path(settings.places.get("HERMES_HOME") or settings.user_home / ".hermes")
    if not (home / "state.db").is_file():
        raise NotFound(f"There is no history of Hermes in {home}.", hint="Start Hermes once.")
    native = f"{datetime.fromtimestamp(conversation.started_at).astimezone():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"
    messages = [row for entry in conversation.entries for row in _list_rows(entry)]
    session = {
        "id": native,
        "source": "cli",
        "model": conversation.model or None,
        "started_at": conversation.started_at,
        "message_count": len(messages),
        "tool_call_count": len(conversation.calls),
        "cwd": conversation.folder,
    }
    rows = [("sessions", session), *(("messages", {"session_id": native, **row}) for row in messages)]
    return NativeSession(native_id=native, home=home, folder=conversation.folder, database=home / "state.db", rows=rows)


def _list_rows(entry: Entry) -> Iterator[dict[str, Any]]:
    if entry.is_user:
        yield {"role": "user", "content": entry.text, "timestamp": entry.at}
        return
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for call in entry.calls
    ]
    yield {
        "role": "assistant",
        "content": entry.text or None,
        "tool_calls": json.dumps(calls, ensure_ascii=False) if calls else None,
        "reasoning": entry.thought or None,
        "finish_reason": "tool_calls" if calls else "stop",
        "timestamp": entry.at,
    }
    for call in entry.calls:
        row = {"role": "tool", "content": call.result, "tool_call_id": call.id, "tool_name": call.name}
        yield {**row, "timestamp": entry.at}


@contextmanager
def insert_rows(native: NativeSession) -> Iterator[list[str]]:
    """Adds the rows in one transaction, which ends with the block; yields the ids of the messages."""
    assert native.database is not None
    with _open(native.database) as db:
        db.execute("BEGIN IMMEDIATE")
        ids = [str(_insert(db, table, row)) for table, row in native.rows]
        yield ids[1:]
        db.execute("COMMIT")


def delete_rows(database: Path, native_id: str) -> None:
    with _open(database) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("DELETE FROM messages WHERE session_id = ?", (native_id,))
        db.execute("DELETE FROM sessions WHERE id = ?", (native_id,))
        db.execute("COMMIT")


def _open(database: Path) -> closing[sqlite3.Connection]:
    try:
        address = f"{database.absolute().as_uri()}?mode=rw"
        return closing(sqlite3.connect(address, uri=True, timeout=_WAIT_SECONDS, isolation_level=None))
    except sqlite3.Error as error:
        raise SourceUnreadable(f"{database} cannot be opened: {error}.", hint="Check its permissions.") from error


def _insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    """Inserts the columns that this version of the table has; returns the number of the row."""
    has = {column[1] for column in db.execute(f"PRAGMA table_info({table})")}
    found = {name: value for name, value in row.items() if name in has}
    names = ", ".join(found)
    marks = ", ".join("?" * len(found))
    return int(db.execute(f"INSERT INTO {table}({names}) VALUES ({marks})", list(found.values())).lastrowid or 0)
