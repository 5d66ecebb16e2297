"""The tables of a store, in the order in which `sojourn store migrate` copies them.

`changes`, `controls`, `gateways`, `credential_holds` and the search indexes are not copied: feeds,
signals and running processes belong to one store, and the index is rebuilt.
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


_SESSION_EXTRA = ("title_terms", "system_prompt_hash", "lease_fence")
_USAGE = (
    "session_id",
    "model",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "task",
    "api_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "estimated_cost_usd",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "first_seen",
    "last_seen",
)
_HANDOFF = (
    "id",
    "session_id",
    "from_surface",
    "platform",
    "target",
    "requested_by",
    "state",
    "surface",
    "fence",
    "owner",
    "lease_until",
    "deadline",
    "driver_fence",
    "thread_id",
    "place",
    "message_id",
    "note",
    "error_code",
    "error",
    "created_at",
    "claimed_at",
    "bound_at",
    "finished_at",
)
_CLAIM = ("attempts", "owner", "fence", "lease_until", "next_try_at")
_INBOX = (
    "id",
    "platform",
    "account",
    "message_id",
    "place",
    "payload",
    "state",
    "ahead",
    *_CLAIM,
    "session_id",
    "turn_id",
    "error",
    "received_at",
    "finished_at",
)
_OUTBOX = (
    "id",
    "key",
    "platform",
    "account",
    "place",
    "payload",
    "session_id",
    "state",
    "possible_duplicate",
    *_CLAIM,
    "message_id",
    "error",
    "created_at",
    "sent_at",
    "finished_at",
)

TABLES = (
    Table("system_prompts", ("hash",), ("hash", "prompt")),
    Table("sessions", ("id",), (*SESSION_COLUMNS, *DETAIL_FIELDS, *_SESSION_EXTRA)),
    Table("messages", ("id",), ("id", "session_id", "seq", *MESSAGE_COLUMNS)),
    Table("events", ("session_id", "seq"), ("session_id", "seq", "turn_id", "name", "data", "at")),
    Table("session_model_usage", _USAGE[:6], _USAGE),
    Table(
        "imports",
        ("source", "source_home", "source_id"),
        ("source", "source_home", "source_id", "session_id", "fingerprint", "at"),
    ),
    Table("source_records", ("session_id", "position"), ("session_id", "position", "kind", "data")),
    Table("blobs", ("hash",), ("hash", "media_type", "data", "at")),
    Table("blob_uses", ("session_id", "hash", "name"), ("session_id", "hash", "name")),
    Table(
        "records",
        ("kind", "key"),
        ("kind", "key", "value", "principal", "session_id", "revision", "created_at", "updated_at"),
    ),
    Table("handoffs", ("id",), _HANDOFF),
    Table("inbox", ("id",), _INBOX),
    Table("inbox_files", ("inbox_id", "position"), ("inbox_id", "position", "name", "media_type", "data")),
    Table("outbox", ("id",), _OUTBOX),
    Table(
        "bindings",
        ("place",),
        ("place", "session_id", "previous_session_id", "principal", "details", "revision", "updated_at"),
    ),
    Table("tombstones", ("hash",), ("hash", "at")),
)
TABLES_BY_NAME = {table.name: table for table in TABLES}
# The tables with a session_id, children first.
SESSION_TABLES = (
    "messages",
    "events",
    "session_model_usage",
    "imports",
    "source_records",
    "blob_uses",
    "records",
    "handoffs",
    "inbox",
    "outbox",
    "bindings",
    "controls",
    "changes",
)
