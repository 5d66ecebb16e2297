"""Deletion of sessions: `delete_session` removes their rows, `forget_session` also every mention of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sojourn.core.messages import Json
from sojourn.core.sessions import Lease, SessionId
from sojourn.ports.store import Removed
from sojourn.stores.sql.db import Db, placeholders
from sojourn.stores.sql.families import adopt_copies, find_family
from sojourn.stores.sql.leases import check_idle
from sojourn.stores.sql.rows import decode_json
from sojourn.stores.sql.sessions import escape_like, tombstone_hash
from sojourn.stores.sql.tables import SESSION_TABLES
from sojourn.text.escape import escape, unescape

_REPLACEMENT = "a forgotten session"
_REDACTED_KEYS = frozenset(("title", "origin", "reason", "text"))


def delete_session(db: Db, session: SessionId, *, lease: Lease | None = None) -> Removed:
    """Deletes a session and its sub-agents. Their `imports` rows stay, so that no import brings them back."""
    check_idle(db, session, lease)
    members = find_family(db, session)
    for member in members[1:]:
        check_idle(db, SessionId(member), None)
    adopt_copies(db, members)
    db.remove_from_index(members)
    for member in members:
        db.record_change(member, "deleted")  # first: the highest number of the feed must never decrease
    here = f"session_id IN ({placeholders(members)})"
    db.execute(f"DELETE FROM changes WHERE {here} AND kind <> 'deleted'", members)
    tables = [table for table in SESSION_TABLES if table not in ("changes", "imports")]
    removed = {table: db.execute(f"DELETE FROM {table} WHERE {here}", members) for table in tables}
    db.execute(
        f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({placeholders(members)})", members
    )
    db.execute(
        f"UPDATE bindings SET previous_session_id = NULL WHERE previous_session_id IN ({placeholders(members)})",
        members,
    )
    removed["sessions"] = db.execute(f"DELETE FROM sessions WHERE id IN ({placeholders(members)})", members)
    removed["blobs"] = db.execute("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_uses)")
    removed["system_prompts"] = db.execute(
        "DELETE FROM system_prompts WHERE hash NOT IN "
        "(SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL)"
    )
    rows = {table: number for table, number in removed.items() if number}
    return Removed(session=session, rows=rows, sessions=tuple(SessionId(unescape(member)) for member in members))


def forget_session(db: Db, session: SessionId) -> Removed:
    """Deletes a session with every mention of it, and leaves hashes that keep imports from bringing it back.

    An entry without a session replaces its entries in the change feed.
    """
    members = find_family(db, session)
    titles = db.fetch_all(f"SELECT title FROM sessions WHERE id IN ({placeholders(members)})", members)
    removed = delete_session(db, session)
    quoted_titles = [f"“{unescape(row['title'])}”" for row in titles if row["title"]]
    _redact_mentions(db, [*map(unescape, members), *quoted_titles])
    records = removed.rows.get("records", 0) + sum(_delete_facts(db, member) for member in members)
    _insert_tombstones(db, members)
    here = f"session_id IN ({placeholders(members)})"
    origins = db.execute(f"DELETE FROM imports WHERE {here}", members)
    db.record_change("", "deleted")
    db.wake_names.discard("")
    db.execute(f"DELETE FROM changes WHERE {here}", members)
    more = {table: number for table, number in (("records", records), ("imports", origins)) if number}
    return replace(removed, rows={**removed.rows, **more})


def _delete_facts(db: Db, session: str) -> int:
    """Deletes records that name the session as their `source_session`: facts learned from it."""
    rows = db.fetch_all("SELECT kind, key, value FROM records WHERE value LIKE ?", (f"%{json.dumps(session)}%",))
    facts = [row for row in rows if _source_session(decode_json(row["value"])) == session]
    return sum(db.execute("DELETE FROM records WHERE kind = ? AND key = ?", (row["kind"], row["key"])) for row in facts)


def _redact_mentions(db: Db, names: Sequence[str]) -> None:
    """Removes references to the deleted sessions, by id or quoted title, from recall events of other sessions."""
    for name in names:
        as_stored = escape(json.dumps(name, ensure_ascii=False)[1:-1])
        progress = "SELECT session_id, seq, data FROM events WHERE name = 'progress' AND data LIKE ? ESCAPE '!'"
        for row in db.fetch_all(progress, (f"%{escape_like(as_stored)}%",)):
            before = decode_json(row["data"])
            after = _redact_value(before, names)
            if after != before:
                params = (escape(json.dumps(after, ensure_ascii=False)), row["session_id"], row["seq"])
                db.execute("UPDATE events SET data = ? WHERE session_id = ? AND seq = ?", params)


def _redact_value(value: Json, names: Sequence[str]) -> Json:
    """Replaces the texts of every object that mentions a name; numbers and other keys stay."""
    if isinstance(value, str):
        return _REPLACEMENT if _mentions(value, names) else value
    if isinstance(value, list):
        return [_redact_value(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    has_mention = any(_mentions(one, names) for one in value.values())
    return {
        key: _REPLACEMENT
        if has_mention and key in _REDACTED_KEYS and isinstance(one, str)
        else _redact_value(one, names)
        for key, one in value.items()
    }


def _mentions(value: Json, names: Sequence[str]) -> bool:
    return isinstance(value, str) and any(name in value for name in names)


def _source_session(value: Json) -> Json:
    return value.get("source_session") if isinstance(value, dict) else None


def _insert_tombstones(db: Db, members: Sequence[str]) -> None:
    """Stores the hashes by which imports recognise the forgotten session and its sub-agents."""
    origins = db.fetch_all(
        f"SELECT source, source_home, source_id FROM imports WHERE session_id IN ({placeholders(members)})", members
    )
    hashes = [tombstone_hash("session", member) for member in members]
    hashes += [tombstone_hash("import", row["source"], row["source_home"], row["source_id"]) for row in origins]
    now = db.now()
    db.execute_many(
        "INSERT INTO tombstones(hash, at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", ((one, now) for one in hashes)
    )
