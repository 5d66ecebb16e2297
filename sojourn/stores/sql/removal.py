"""Taking sessions away, and saying what was taken."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.sessions import Lease, SessionId
from sojourn.core.tables import OF_A_SESSION
from sojourn.core.text import escape
from sojourn.stores.sql.db import Db, marks
from sojourn.stores.sql.sessions import tombstone
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


def delete(db: Db, session: SessionId, lease: Lease | None) -> dict[str, int]:
    """Rows taken away, per table. Where it was imported from stays known, so that it does not come back."""
    check_idle(db, session, lease)
    members = family(db, session)
    for member in members[1:]:
        check_idle(db, SessionId(member), None)
    for member in members:
        db.changed(member, "deleted")  # first: the feed must not fall back behind what others have read of it
    here = f"session_id IN ({marks(members)})"
    db.run(f"DELETE FROM changes WHERE {here} AND kind <> 'deleted'", members)
    gone = [table for table in OF_A_SESSION if table not in ("changes", "imports")]
    removed = {table: db.run(f"DELETE FROM {table} WHERE {here}", members) for table in gone}
    db.run(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({marks(members)})", members)
    db.run(f"UPDATE bindings SET previous_session_id = NULL WHERE previous_session_id IN ({marks(members)})", members)
    removed["sessions"] = db.run(f"DELETE FROM sessions WHERE id IN ({marks(members)})", members)
    removed["blobs"] = db.run("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_uses)")
    removed["system_prompts"] = db.run(
        "DELETE FROM system_prompts WHERE hash NOT IN "
        "(SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL)"
    )
    return {table: rows for table, rows in removed.items() if rows}


def forget(db: Db, session: SessionId) -> dict[str, int]:
    """`delete`, and hashes that keep the session away. A nameless entry takes its place in the feed."""
    members = family(db, session)
    removed = delete(db, session, None)
    _bury(db, members)
    here = f"session_id IN ({marks(members)})"
    origins = db.run(f"DELETE FROM imports WHERE {here}", members)
    db.changed("", "deleted")
    db.touched.discard("")
    db.run(f"DELETE FROM changes WHERE {here}", members)
    return removed | ({"imports": origins} if origins else {})


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
