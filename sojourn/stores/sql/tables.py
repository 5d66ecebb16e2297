"""The tables of a store, in the order in which `sojourn store migrate` copies them.

`changes`, `controls`, `questions`, `gateways`, `credential_holds` and the search indexes are not copied: feeds,
signals, running turns and processes belong to one store, and the index is rebuilt.
"""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.sessions import DETAIL_FIELDS
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, SESSION_COLUMNS


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns, and the key that orders its rows."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


def _table(name: str, key: str, columns: str) -> Table:
    """Makes a table of the names of its key columns and of its other columns, separated by spaces."""
    return Table(name, tuple(key.split()), (*key.split(), *columns.split()))


_SESSION = " ".join((*SESSION_COLUMNS[1:], *DETAIL_FIELDS, "title_terms system_prompt_hash lease_fence tools"))
_USAGE_KEY = "session_id model billing_provider billing_base_url billing_mode task"
_USAGE = "api_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens"
_COST = "estimated_cost_usd actual_cost_usd cost_status cost_source first_seen last_seen"
_HANDOFF = (
    "session_id from_surface platform target requested_by state surface fence owner lease_until deadline driver_fence "
    "thread_id place message_id note error_code error created_at claimed_at bound_at finished_at"
)
_CLAIM = "attempts owner fence lease_until next_try_at"
_INBOX = (
    f"platform account message_id place payload state ahead {_CLAIM} session_id turn_id error received_at finished_at"
)
_OUTBOX = (
    f"key platform account place payload session_id state possible_duplicate {_CLAIM} message_id error created_at "
    "sent_at finished_at"
)
TABLES = (
    _table("system_prompts", "hash", "prompt"),
    _table("sessions", "id", _SESSION),
    _table("messages", "id", f"session_id seq {' '.join(MESSAGE_COLUMNS)}"),
    _table("events", "session_id seq", "turn_id name data at"),
    _table("session_model_usage", _USAGE_KEY, f"{_USAGE} {_COST}"),
    _table("imports", "source source_home source_id", "session_id fingerprint at"),
    _table("source_records", "session_id position", "kind data"),
    _table("blobs", "hash", "media_type data at"),
    _table("blob_uses", "session_id hash name", "media_type"),
    _table("records", "kind key", "value principal session_id revision created_at updated_at"),
    _table("handoffs", "id", _HANDOFF),
    _table("inbox", "id", _INBOX),
    _table("inbox_files", "inbox_id position", "name media_type data"),
    _table("outbox", "id", _OUTBOX),
    _table("bindings", "place", "session_id previous_session_id principal details revision updated_at"),
    _table("tombstones", "hash", "at"),
)
TABLES_BY_NAME = {table.name: table for table in TABLES}
# The tables whose rows belong to a session.
_UNCOPIED = ("controls", "questions", "changes")
SESSION_TABLES = (*(table.name for table in TABLES if "session_id" in table.columns), *_UNCOPIED)
