"""Who is at work, over SQL: heartbeats, credentials, and how the lines get on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from sojourn.core.errors import LeaseLost
from sojourn.ports.gateway_store import ConnectionHealth, CredentialLease, Heartbeat, Topic
from sojourn.stores.journal import GATEWAYS, heartbeat_from, hold_from
from sojourn.stores.records import json_text
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.transactions import Transactions
from sojourn.text.escape import escape, unescape

_BEAT = "id, host, pid, health, started_at, beat_at, lease_until"
_HOLD = "credential, owner, fence, lease_until"
_TOPICS: tuple[Topic, ...] = ("inbox", "outbox", "bindings", "gateways")
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


def beat(db: Db, heartbeat: Heartbeat, seconds: float) -> Heartbeat:
    now = db.now()
    row = db.one(
        f"INSERT INTO gateways({_BEAT}) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
        "host = excluded.host, pid = excluded.pid, health = excluded.health, beat_at = excluded.beat_at, "
        f"lease_until = excluded.lease_until RETURNING {', '.join('gateways.' + name for name in _BEAT.split(', '))}",
        (
            escape(heartbeat.id),
            escape(heartbeat.host),
            heartbeat.pid,
            json_text(dict(heartbeat.health), db.redact),
            heartbeat.started_at or now,
            now,
            now + seconds,
        ),
    )
    assert row is not None
    db.touched.add(GATEWAYS)
    return heartbeat_from(row)


def at_work(db: Db, alive: bool) -> list[Heartbeat]:
    rows = db.all(f"SELECT {_BEAT} FROM gateways ORDER BY id")
    now = db.now()
    return [heartbeat_from(row) for row in rows if not alive or row["lease_until"] > now]


def retire(db: Db, id: str) -> bool:
    gone = db.run("DELETE FROM gateways WHERE id = ?", (escape(id),))
    if gone:
        db.touched.add(GATEWAYS)
    return bool(gone)


def hold(db: Db, credential: str, owner: str, seconds: float) -> CredentialLease | None:
    now = db.now()
    row = db.one(
        f"INSERT INTO credential_holds({_HOLD}) VALUES (?, ?, 1, ?) ON CONFLICT (credential) DO UPDATE SET "
        "fence = credential_holds.fence + CASE WHEN credential_holds.owner = excluded.owner THEN 0 ELSE 1 END, "
        "owner = excluded.owner, lease_until = excluded.lease_until "
        "WHERE credential_holds.lease_until < ? OR credential_holds.owner = excluded.owner "
        f"RETURNING {', '.join('credential_holds.' + name for name in _HOLD.split(', '))}",
        (escape(credential), escape(owner), now + seconds, now),
    )
    return hold_from(row) if row else None


def renew(db: Db, held: CredentialLease, seconds: float) -> CredentialLease:
    until = db.now() + seconds if seconds > 0 else 0.0
    row = db.one(
        f"UPDATE credential_holds SET lease_until = ? WHERE credential = ? AND owner = ? AND fence = ? "
        f"RETURNING {_HOLD}",
        (until, escape(held.credential), escape(held.owner), held.fence),
    )
    if row is None:
        raise LeaseLost(
            f'The credential "{held.credential}" is used by another process now.',
            hint="Stop using it; one process at a time may.",
        )
    if not seconds > 0:
        db.touched.add(GATEWAYS)  # whoever waits for it may have it
    return hold_from(row)


def health(db: Db) -> list[ConnectionHealth]:
    lines: dict[tuple[str, str], dict[str, Any]] = {}
    for sql in (_INBOX_HEALTH, _OUTBOX_HEALTH):
        for row in db.all(sql):
            line = lines.setdefault((unescape(row["platform"]), unescape(row["account"])), {"failed": 0})
            figures = {name: row[name] for name in row.keys() if name not in ("platform", "account")}  # noqa: SIM118
            line.update(figures, failed=line["failed"] + int(figures["failed"]))
    return [ConnectionHealth(platform=line[0], account=line[1], **_whole(lines[line])) for line in sorted(lines)]


def _whole(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: int(v) if name in ("waiting", "pending", "failed") else v for name, v in figures.items()}


def prune(db: Db, before: float) -> int:
    return (
        db.run("DELETE FROM inbox WHERE state IN ('done', 'failed') AND finished_at < ?", (before,))
        + db.run(
            "DELETE FROM outbox WHERE state IN ('sent', 'delivered', 'failed') AND COALESCE(finished_at, sent_at) < ?",
            (before,),
        )
        + db.run("DELETE FROM gateways WHERE lease_until < ?", (before,))
        + db.run("DELETE FROM credential_holds WHERE lease_until < ?", (before,))
    )


class SqlGateways(Transactions):
    """ports.journal.Gateways over SQL, and the journal's bell."""

    async def beat(self, heartbeat: Heartbeat, *, seconds: float = 15.0) -> Heartbeat:
        return await self._write(lambda db: beat(db, heartbeat, seconds))

    async def gateways(self, *, alive: bool = True) -> list[Heartbeat]:
        return await self._read(lambda db: at_work(db, alive))

    async def retire_gateway(self, id: str) -> bool:
        return await self._write(lambda db: retire(db, id))

    async def lease_credential(self, credential: str, owner: str, *, seconds: float = 30.0) -> CredentialLease | None:
        return await self._write(lambda db: hold(db, credential, owner, seconds))

    async def renew_credential(self, hold: CredentialLease, *, seconds: float = 30.0) -> CredentialLease:
        return await self._write(lambda db: renew(db, hold, seconds))

    async def line_health(self) -> list[ConnectionHealth]:
        return await self._read(health)

    async def prune_journal(self, before: float) -> int:
        return await self._write(lambda db: prune(db, before))

    async def watch_gateway(self, *topics: Topic, seconds: float = 2.0) -> AsyncGenerator[None, None]:
        names = [f"@{topic}" for topic in topics or _TOPICS]
        rung = self.waiters.add(*names)
        self._listen()
        try:
            while True:
                rung.take()
                yield
                await self._rest(rung, seconds)
        finally:
            self.waiters.remove(rung, *names)
