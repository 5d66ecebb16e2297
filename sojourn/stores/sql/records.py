"""Records: each way of writing is one guarded statement, so two who write at once cannot both win."""

from __future__ import annotations

from typing import Any

from sojourn.core.sessions import Lease, Principal, SessionId
from sojourn.core.text import escape
from sojourn.ports.records import Record
from sojourn.stores.journal import RECORDS
from sojourn.stores.records import after_prefix, not_as_expected, record_from, record_row
from sojourn.stores.sql.db import Db, Row, insertion
from sojourn.stores.sql.log import exists, guard
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.transactions import Transactions

_COLUMNS = ", ".join(TABLES_BY_NAME["records"].columns)
_INSERT = insertion("records", TABLES_BY_NAME["records"].columns)
_NEW = f"{_INSERT} ON CONFLICT (kind, key) DO NOTHING RETURNING {_COLUMNS}"
_ANYWAY = (
    f"{_INSERT} ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, principal = excluded.principal, "
    "session_id = excluded.session_id, revision = records.revision + 1, updated_at = excluded.updated_at "
    f"RETURNING {', '.join(f'records.{name}' for name in TABLES_BY_NAME['records'].columns)}"
)
_NEXT = (
    "UPDATE records SET value = ?, principal = ?, session_id = ?, revision = revision + 1, updated_at = ? "
    f"WHERE kind = ? AND key = ? AND revision = ? RETURNING {_COLUMNS}"
)


def put(db: Db, record: Record, expect: int | None, lease: Lease | None) -> Record:
    return record_from(keep(db, record, expect, lease))


def keep(
    db: Db, record: Record, expect: int | None, lease: Lease | None = None, *, rung: SessionId | None = None
) -> Row:
    """The row as it is now. `rung`: whoever watches that session hears of it anyway."""
    row = record_row(record, db.redact, now=db.now())
    if lease is not None:
        guard(db, lease, "lease_fence = lease_fence", ())
    if record.session is not None:
        exists(db, record.session)
    if expect:
        kept = db.one(
            _NEXT,
            (row["value"], row["principal"], row["session_id"], row["updated_at"], row["kind"], row["key"], expect),
        )
    else:
        kept = db.one(_ANYWAY if expect is None else _NEW, [row[name] for name in TABLES_BY_NAME["records"].columns])
    if kept is None:
        raise not_as_expected(record.kind, record.key, expect=expect or 0, found=_revision(db, record.kind, record.key))
    if record.session is None:
        db.touched.add(RECORDS)
    elif record.session != rung:
        db.changed(record.session, "changed")
    return kept


def _revision(db: Db, kind: str, key: str) -> int:
    row = db.one("SELECT revision FROM records WHERE kind = ? AND key = ?", (escape(kind), escape(key)))
    return int(row["revision"]) if row else 0


def get(db: Db, kind: str, key: str) -> Record | None:
    row = db.one(f"SELECT {_COLUMNS} FROM records WHERE kind = ? AND key = ?", (escape(kind), escape(key)))
    return record_from(row) if row else None


def find(
    db: Db, kind: str, principal: Principal | None, session: SessionId | None, prefix: str, after: str, limit: int
) -> list[Record]:
    where: list[str] = ["kind = ?"]
    params: list[Any] = [escape(kind)]

    def add(condition: str, value: str) -> None:
        where.append(condition)
        params.append(value)

    if principal is not None:
        add("principal = ?", escape(principal))
    if session is not None:
        add("session_id = ?", escape(session))
    if prefix:
        add("key >= ?", escape(prefix))
        if (end := after_prefix(escape(prefix))) is not None:
            add("key < ?", end)
    if after:
        add("key > ?", escape(after))
    rows = db.all(
        f"SELECT {_COLUMNS} FROM records WHERE {' AND '.join(where)} ORDER BY key LIMIT ?", [*params, max(0, limit)]
    )
    return [record_from(row) for row in rows]


def delete(db: Db, kind: str, key: str, expect: int | None, *, rung: SessionId | None = None) -> bool:
    names = (escape(kind), escape(key))
    guarded = "" if expect is None else " AND revision = ?"
    gone = db.one(
        f"DELETE FROM records WHERE kind = ? AND key = ?{guarded} RETURNING session_id",
        names if expect is None else (*names, expect),
    )
    if gone is None:
        if expect is not None and (found := _revision(db, kind, key)):
            raise not_as_expected(kind, key, expect=expect, found=found)
        return False
    if gone["session_id"] not in (None, rung):
        db.changed(gone["session_id"], "changed")
    return True


class SqlRecords(Transactions):
    """RecordStore over SQL."""

    async def put_record(self, record: Record, *, expect: int | None = None, lease: Lease | None = None) -> Record:
        return await self._write(lambda db: put(db, record, expect, lease))

    async def get_record(self, kind: str, key: str) -> Record | None:
        return await self._read(lambda db: get(db, kind, key))

    async def list_records(
        self,
        kind: str,
        *,
        principal: Principal | None = None,
        session: SessionId | None = None,
        prefix: str = "",
        after: str = "",
        limit: int = 1000,
    ) -> list[Record]:
        return await self._read(lambda db: find(db, kind, principal, session, prefix, after, limit))

    async def delete_record(self, kind: str, key: str, *, expect: int | None = None) -> bool:
        return await self._write(lambda db: delete(db, kind, key, expect))
