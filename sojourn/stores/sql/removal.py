"""Taking sessions away, and saying what was taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sojourn.core.messages import Json
from sojourn.core.sessions import Lease, SessionId
from sojourn.core.text import escape, unescape
from sojourn.ports.store import Removed
from sojourn.stores import mentions
from sojourn.stores.records import json_value
from sojourn.stores.sql.db import Db, marks
from sojourn.stores.sql.sessions import literal, tombstone
from sojourn.stores.sql.tables import SESSION_TABLES
from sojourn.stores.sql.wheel import check_idle

_DEPTH = 32


def family(db: Db, session: SessionId) -> list[str]:
    """A session and the sub-agents it started; branches are conversations of their own and stay."""
    found = edge = [escape(session)]
    for _ in range(_DEPTH):
        rows = db.all(
            f"SELECT id FROM sessions WHERE parent_session_id IN ({marks(edge)}) "
            "AND (source = 'subagent' OR model_config LIKE ?)",
            [*edge, '%"_delegate_from"%'],
        )
        edge = [row["id"] for row in rows if row["id"] not in found]
        if not edge:
            break
        found = [*found, *edge]
    return found


def delete(db: Db, session: SessionId, lease: Lease | None) -> Removed:
    """Rows taken away, per table. Where it was imported from stays known, so that it does not come back."""
    check_idle(db, session, lease)
    members = family(db, session)
    for member in members[1:]:
        check_idle(db, SessionId(member), None)
    for member in members:
        db.changed(member, "deleted")  # first: the feed must not fall back behind what others have read of it
    here = f"session_id IN ({marks(members)})"
    db.run(f"DELETE FROM changes WHERE {here} AND kind <> 'deleted'", members)
    gone = [table for table in SESSION_TABLES if table not in ("changes", "imports")]
    removed = {table: db.run(f"DELETE FROM {table} WHERE {here}", members) for table in gone}
    db.run(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({marks(members)})", members)
    db.run(f"UPDATE bindings SET previous_session_id = NULL WHERE previous_session_id IN ({marks(members)})", members)
    removed["sessions"] = db.run(f"DELETE FROM sessions WHERE id IN ({marks(members)})", members)
    removed["blobs"] = db.run("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_uses)")
    removed["system_prompts"] = db.run(
        "DELETE FROM system_prompts WHERE hash NOT IN "
        "(SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL)"
    )
    rows = {table: number for table, number in removed.items() if number}
    return Removed(session=session, rows=rows, sessions=tuple(SessionId(unescape(member)) for member in members))


def forget(db: Db, session: SessionId) -> Removed:
    """`delete`, what was remembered of it, and hashes that keep it away. A nameless entry takes its place in the
    feed."""
    members = family(db, session)
    titles = db.all(f"SELECT title FROM sessions WHERE id IN ({marks(members)})", members)
    removed = delete(db, session, None)
    _unmention(db, mentions.names(map(unescape, members), (row["title"] and unescape(row["title"]) for row in titles)))
    records = removed.rows.get("records", 0) + sum(_unremember(db, member) for member in members)
    _bury(db, members)
    here = f"session_id IN ({marks(members)})"
    origins = db.run(f"DELETE FROM imports WHERE {here}", members)
    db.changed("", "deleted")
    db.touched.discard("")
    db.run(f"DELETE FROM changes WHERE {here}", members)
    more = {table: number for table, number in (("records", records), ("imports", origins)) if number}
    return replace(removed, rows={**removed.rows, **more})


def _unremember(db: Db, session: str) -> int:
    """Records that outlive a session but say that they were made of it (`source_session`): facts."""
    rows = db.all("SELECT kind, key, value FROM records WHERE value LIKE ?", (f"%{json.dumps(session)}%",))
    told = [row for row in rows if _source(json_value(row["value"])) == session]
    return sum(db.run("DELETE FROM records WHERE kind = ? AND key = ?", (row["kind"], row["key"])) for row in told)


def _unmention(db: Db, named: Sequence[str]) -> None:
    """Events of other sessions tell what was recalled from these; they say that no more."""
    for name in named:
        like = f"%{literal(mentions.as_kept(name))}%"
        progress = "SELECT session_id, seq, data FROM events WHERE name = 'progress' AND data LIKE ? ESCAPE '!'"
        for row in db.all(progress, (like,)):
            if (left := mentions.without(row["data"], named)) is not None:
                where = (left, row["session_id"], row["seq"])
                db.run("UPDATE events SET data = ? WHERE session_id = ? AND seq = ?", where)


def _source(value: Json) -> Json:
    return value.get("source_session") if isinstance(value, dict) else None


def _bury(db: Db, members: Sequence[str]) -> None:
    """Leaves hashes behind, so that no import brings the session or its sub-agents back."""
    origins = db.all(
        f"SELECT source, source_home, source_id FROM imports WHERE session_id IN ({marks(members)})", members
    )
    hashes = [tombstone("session", member) for member in members]
    hashes += [tombstone("import", row["source"], row["source_home"], row["source_id"]) for row in origins]
    now = db.now()
    db.many(
        "INSERT INTO tombstones(hash, at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", ((one, now) for one in hashes)
    )
