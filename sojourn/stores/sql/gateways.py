"""Gateways over SQL: heartbeats, credential leases and health of connections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sojourn.core.errors import LeaseLost
from sojourn.ports.gateway_store import ConnectionHealth, CredentialLease, Heartbeat
from sojourn.stores.sql.db import Db, insert_statement
from sojourn.stores.sql.rows import decode_row, encode_value
from sojourn.stores.sql.wakeups import GATEWAYS
from sojourn.text.escape import escape, unescape

_HEARTBEAT_COLUMNS = ("id", "host", "pid", "health", "started_at", "beat_at", "lease_until")
_HOLD_COLUMNS = ("credential", "owner", "fence", "lease_until")
_INBOX_HEALTH = (
    "SELECT platform, account, sum(CASE WHEN state IN ('waiting', 'running') THEN 1 ELSE 0 END) AS waiting, "
    "min(CASE WHEN state IN ('waiting', 'running') THEN received_at END) AS oldest_waiting, "
    "max(received_at) AS last_received, sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed "
    "FROM inbox GROUP BY platform, account"
)
_OUTBOX_HEALTH = (
    "SELECT platform, account, sum(CASE WHEN state IN ('pending', 'sending') THEN 1 ELSE 0 END) AS pending, "
    "min(CASE WHEN state IN ('pending', 'sending') THEN created_at END) AS oldest_pending, "
    "max(sent_at) AS last_sent, sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed "
    "FROM outbox GROUP BY platform, account"
)


def save_heartbeat(db: Db, heartbeat: Heartbeat, *, seconds: float = 15.0) -> Heartbeat:
    now = db.now()
    started_at = heartbeat.started_at or now
    health = dict(heartbeat.health)
    beat = replace(heartbeat, health=health, started_at=started_at, beat_at=now, until=now + seconds)
    columns = encode_value(beat, db.redact)
    row = db.fetch_one(
        f"{insert_statement('gateways', _HEARTBEAT_COLUMNS)} ON CONFLICT (id) DO UPDATE SET "
        "host = excluded.host, pid = excluded.pid, health = excluded.health, beat_at = excluded.beat_at, "
        f"lease_until = excluded.lease_until RETURNING {', '.join(f'gateways.{name}' for name in _HEARTBEAT_COLUMNS)}",
        [columns[name] for name in _HEARTBEAT_COLUMNS],
    )
    assert row is not None
    db.wake_names.add(GATEWAYS)
    return decode_row(Heartbeat, row)


def list_gateways(db: Db, *, alive: bool = True) -> list[Heartbeat]:
    rows = db.fetch_all(f"SELECT {', '.join(_HEARTBEAT_COLUMNS)} FROM gateways ORDER BY id")
    now = db.now()
    return [decode_row(Heartbeat, row) for row in rows if not alive or row["lease_until"] > now]


def delete_gateway(db: Db, id: str) -> bool:
    deleted = db.execute("DELETE FROM gateways WHERE id = ?", (escape(id),))
    if deleted:
        db.wake_names.add(GATEWAYS)
    return bool(deleted)


def lease_credential(db: Db, credential: str, owner: str, *, seconds: float = 30.0) -> CredentialLease | None:
    now = db.now()
    row = db.fetch_one(
        f"INSERT INTO credential_holds({', '.join(_HOLD_COLUMNS)}) VALUES (?, ?, 1, ?) "
        "ON CONFLICT (credential) DO UPDATE SET "
        "fence = credential_holds.fence + CASE WHEN credential_holds.owner = excluded.owner THEN 0 ELSE 1 END, "
        "owner = excluded.owner, lease_until = excluded.lease_until "
        "WHERE credential_holds.lease_until < ? OR credential_holds.owner = excluded.owner "
        f"RETURNING {', '.join(f'credential_holds.{name}' for name in _HOLD_COLUMNS)}",
        (escape(credential), escape(owner), now + seconds, now),
    )
    return decode_row(CredentialLease, row) if row else None


def renew_credential(db: Db, hold: CredentialLease, *, seconds: float = 30.0) -> CredentialLease:
    until = db.now() + seconds if seconds > 0 else 0.0
    row = db.fetch_one(
        f"UPDATE credential_holds SET lease_until = ? WHERE credential = ? AND owner = ? AND fence = ? "
        f"RETURNING {', '.join(_HOLD_COLUMNS)}",
        (until, escape(hold.credential), escape(hold.owner), hold.fence),
    )
    if row is None:
        raise LeaseLost(
            f'The credential "{hold.credential}" is used by another process now.',
            hint="Stop using it; only one process may use it at a time.",
        )
    if not seconds > 0:
        db.wake_names.add(GATEWAYS)  # another gateway may take it now
    return decode_row(CredentialLease, row)


def measure_connections(db: Db) -> list[ConnectionHealth]:
    """Computes the health of each connection (platform and account) from its inbox and outbox rows."""
    by_account: dict[tuple[str, str], dict[str, Any]] = {}
    for sql in (_INBOX_HEALTH, _OUTBOX_HEALTH):
        for row in db.fetch_all(sql):
            health = by_account.setdefault((unescape(row["platform"]), unescape(row["account"])), {"failed": 0})
            figures = {name: row[name] for name in row.keys() if name not in ("platform", "account")}  # noqa: SIM118
            health.update(figures, failed=health["failed"] + int(figures["failed"]))
    return [
        ConnectionHealth(
            platform=platform,
            account=account,
            **{name: int(v) if name in ("waiting", "pending", "failed") else v for name, v in health.items()},
        )
        for (platform, account), health in sorted(by_account.items())
    ]


def prune_finished(db: Db, before: float) -> int:
    """Deletes finished rows and expired leases older than a time; returns how many."""
    return (
        db.execute("DELETE FROM inbox WHERE state IN ('done', 'failed') AND finished_at < ?", (before,))
        + db.execute(
            "DELETE FROM outbox WHERE state IN ('sent', 'delivered', 'failed') AND COALESCE(finished_at, sent_at) < ?",
            (before,),
        )
        + db.execute("DELETE FROM gateways WHERE lease_until < ?", (before,))
        + db.execute("DELETE FROM credential_holds WHERE lease_until < ?", (before,))
    )
