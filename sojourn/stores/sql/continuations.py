"""Sessions that go on in another program: what was written there for it is known, and only what comes after it is new.

A record of kind `continuations` says which messages of the foreign session were ours. Their ids there get the foreign
session's id in front, because a session may have gone on in several places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sojourn.core.messages import Json, Message
from sojourn.core.sessions import SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import Record
from sojourn.stores.sql.db import Db, insert_statement
from sojourn.stores.sql.records import get_record, list_records, put_record
from sojourn.stores.sql.rows import FIGURE_COLUMNS, add_tool_names, coerce_column, count_tool_calls
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.text.redaction import mark_identifiers

KIND = "continuations"
_KEYS = TABLES_BY_NAME["session_model_usage"].key[1:]
_COUNTS = tuple(name for name in FIGURE_COLUMNS if not name.startswith("cost_"))
_UPDATE = (
    "UPDATE sessions SET last_seq = ?, message_count = message_count + ?, tool_call_count = tool_call_count + ?, "
    "last_active = CASE WHEN last_active < ? THEN ? ELSE last_active END, tools = ?, revision = revision + 1 "
    "WHERE id = ?"
)


def find_continuation(db: Db, source: str, native: str, session: str) -> Record | None:
    """What is known of a foreign session in which one of ours goes on."""
    found = get_record(db, KIND, f"{source}/{native}")
    return found if found is not None and found.session == session else None


def select_messages(known: Record, transcript: Transcript) -> Transcript:
    """The transcript without the messages that were written for it."""
    seen = set(known.value["seen"])
    messages = [
        replace(message, native_id=f"{transcript.native_id}/{message.native_id}")
        for message in transcript.messages
        if message.native_id not in seen
    ]
    return replace(transcript, messages=messages)


def add_figures(db: Db, session: str, new: Sequence[Message], last_seq: int, tools: str) -> None:
    """Counts new messages in the session; what else is known of it stays as it is."""
    newest = max((message.timestamp for message in new), default=0.0)
    calls = sum(map(count_tool_calls, new))
    db.execute(_UPDATE, (last_seq, len(new), calls, newest, newest, add_tool_names(tools, new), session))


def add_usage(db: Db, session: str, known: Record, transcript: Transcript) -> None:
    """Adds what was used since the last time, to each model and to the session."""
    rows = [dict(row) for row in transcript.fields.get("usage") or ()]
    if rows != known.value.get("usage", []):
        _add_growth(db, session, rows, known.value.get("usage", []))
        put_record(db, replace(known, value=mark_identifiers({**known.value, "usage": rows})))


def restore_usage(db: Db, session: str) -> None:
    """Adds what was used elsewhere again, after the figures of a session were replaced by those of its source."""
    for known in list_records(db, KIND, session=SessionId(session)):
        _add_growth(db, session, known.value.get("usage", []), known.value.get("written_usage", []))


def _add_growth(db: Db, session: str, rows: Sequence[Mapping[str, Json]], before: Sequence[Mapping[str, Json]]) -> None:
    earlier = {_to_key(row): row for row in before}
    for row in rows:
        grown = _subtract(row, earlier.get(_to_key(row), {}))
        if not grown:
            continue
        key, where = [session, *_to_key(row)], " AND ".join(f"{name} = ?" for name in ("session_id", *_KEYS))
        grow = ", ".join(f"{name} = COALESCE({name}, 0) + ?" for name in grown)
        if not db.execute(f"UPDATE session_model_usage SET {grow} WHERE {where}", [*grown.values(), *key]):
            columns = ("session_id", *_KEYS, *grown)
            db.execute(insert_statement("session_model_usage", columns), [*key, *grown.values()])
        db.execute(f"UPDATE sessions SET {grow} WHERE id = ?", [*grown.values(), session])


def _to_key(row: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(str(row.get(name) or "") for name in _KEYS)


def _subtract(row: Mapping[str, Json], before: Mapping[str, Json]) -> dict[str, Any]:
    """The figures that have grown, and by how much."""
    pairs = ((name, (coerce_column(name, row.get(name), str) or 0) - (before.get(name) or 0)) for name in _COUNTS)
    return {name: more for name, more in pairs if more > 0}
