"""Taking sessions away, and saying what was taken."""

from __future__ import annotations

from sojourn.core.sessions import Lease, SessionId
from sojourn.core.tables import OF_A_SESSION
from sojourn.stores.sql.db import Db, marks
from sojourn.stores.sql.sessions import tombstone
from sojourn.stores.sql.wheel import check_idle

_DEPTH = 32


def family(db: Db, session: SessionId) -> list[str]:
    """A session and the sub-agents it started; branches are conversations of their own and stay."""
    found, edge = [str(session)], [str(session)]
    for _ in range(_DEPTH):
        rows = db.all(
            f"SELECT id FROM sessions WHERE parent_session_id IN ({marks(edge)}) "
            "AND (source = 'subagent' OR model_config LIKE ?)",
            [*edge, '%"_delegate_from"%'],
        )
        edge = [row["id"] for row in rows if row["id"] not in found]
        if not edge:
            break
        found += edge
    return found


def delete(db: Db, session: SessionId, lease: Lease | None) -> dict[str, int]:
    """Rows taken away, per table."""
    check_idle(db, session, lease)
    members = family(db, session)
    for member in members[1:]:
        check_idle(db, SessionId(member), None)
    here = f"session_id IN ({marks(members)})"
    removed = {table: db.run(f"DELETE FROM {table} WHERE {here}", members) for table in OF_A_SESSION}
    db.run(f"UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id IN ({marks(members)})", members)
    removed["sessions"] = db.run(f"DELETE FROM sessions WHERE id IN ({marks(members)})", members)
    removed["blobs"] = db.run("DELETE FROM blobs WHERE hash NOT IN (SELECT hash FROM blob_uses)")
    removed["system_prompts"] = db.run(
        "DELETE FROM system_prompts WHERE hash NOT IN "
        "(SELECT system_prompt_hash FROM sessions WHERE system_prompt_hash IS NOT NULL)"
    )
    for member in members:
        db.changed(member, "deleted")
    return {table: rows for table, rows in removed.items() if rows}


def bury(db: Db, session: SessionId) -> None:
    """Leaves hashes behind, so that no import brings the session or its sub-agents back."""
    members = family(db, session)
    origins = db.all(
        f"SELECT source, source_home, source_id FROM imports WHERE session_id IN ({marks(members)})", members
    )
    hashes = [tombstone("session", member) for member in members]
    hashes += [tombstone("import", row["source"], row["source_home"], row["source_id"]) for row in origins]
    now = db.now()
    db.many(
        "INSERT INTO tombstones(hash, at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING", ((one, now) for one in hashes)
    )
