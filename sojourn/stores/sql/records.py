"""RecordStore over SQL. Each write is one guarded statement, so of two concurrent writers only one succeeds."""

from __future__ import annotations

from dataclasses import replace

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.sessions import Lease, Principal, SessionId
from sojourn.ports.store import Kinds, Record
from sojourn.stores.sql.db import Conditions, Db, fetch_number, insert_statement
from sojourn.stores.sql.lease_guard import check_lease
from sojourn.stores.sql.rows import decode_row, encode_value
from sojourn.stores.sql.sessions import check_session_exists
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import RECORDS
from sojourn.text.escape import escape

_TABLE_COLUMNS = TABLES_BY_NAME["records"].columns
_COLUMNS = ", ".join(_TABLE_COLUMNS)
_INSERT = insert_statement("records", _TABLE_COLUMNS)
_CREATE = f"{_INSERT} ON CONFLICT (kind, key) DO NOTHING RETURNING {_COLUMNS}"
_UPSERT = (
    f"{_INSERT} ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, principal = excluded.principal, "
    "session_id = excluded.session_id, revision = records.revision + 1, updated_at = excluded.updated_at "
    f"RETURNING {', '.join(f'records.{name}' for name in _TABLE_COLUMNS)}"
)
_UPDATE = (
    "UPDATE records SET value = ?, principal = ?, session_id = ?, revision = revision + 1, updated_at = ? "
    f"WHERE kind = ? AND key = ? AND revision = ? RETURNING {_COLUMNS}"
)


def put_record(db: Db, record: Record, *, expect: int | None = None, lease: Lease | None = None) -> Record:
    """Writes a record and returns it as it is stored.

    Args:
        expect: the revision it must have now (0: it must not exist); None overwrites any.
        lease: a lease that must still hold.
    """
    if not record.kind or not record.key:
        raise BadInput("A record needs a kind and a key.", hint="Set both.")
    now = db.now()
    columns = encode_value(replace(record, revision=1, created_at=now, updated_at=now), db.redact)
    if lease is not None:
        check_lease(db, lease)
    if record.session is not None and record.session not in db.log_items:  # what was appended to exists
        check_session_exists(db, record.session)
    if expect:
        names = ("value", "principal", "session_id", "updated_at", "kind", "key")
        row = db.fetch_one(_UPDATE, [*(columns[name] for name in names), expect])
    else:
        row = db.fetch_one(_UPSERT if expect is None else _CREATE, [columns[name] for name in _TABLE_COLUMNS])
    if row is None:
        raise _conflict(record.kind, record.key, expected=expect or 0, current=_revision(db, record.kind, record.key))
    if record.session is None:
        db.wake_names.add(RECORDS)
    else:
        _record_change(db, record.session)
    return decode_row(Record, row)


def _record_change(db: Db, session: SessionId) -> None:
    """A session that this transaction has appended to is in the change feed already."""
    if session not in db.log_items:
        db.record_change(session, "changed")


def _revision(db: Db, kind: str, key: str) -> int:
    sql = "SELECT revision AS n FROM records WHERE kind = ? AND key = ?"
    return fetch_number(db, sql, (escape(kind), escape(key)))


def _conflict(kind: str, key: str, *, expected: int, current: int) -> Conflict:
    """Another process changed the record; `current` is its revision now, 0 if it is gone."""
    if not current:
        state = "it is gone"
    elif not expected:
        state = f"it is already there (revision {current})"
    else:
        state = f"it is at revision {current}, not {expected}"
    return Conflict(
        f'{kind} "{key}" was changed by somebody else: {state}.', hint="Read it again and repeat the change."
    )


def get_record(db: Db, kind: str, key: str) -> Record | None:
    row = db.fetch_one(f"SELECT {_COLUMNS} FROM records WHERE kind = ? AND key = ?", (escape(kind), escape(key)))
    return decode_row(Record, row) if row else None


def list_records(
    db: Db,
    kind: Kinds,
    *,
    principal: Principal | None = None,
    session: SessionId | None = None,
    prefix: str = "",
    after: str = "",
    limit: int = 1000,
) -> list[Record]:
    where = Conditions()
    where.add_choice("kind", (kind,) if isinstance(kind, str) else kind)
    where.add_filters(("principal = ?", principal), ("session_id = ?", session))
    where.add_prefix("key", prefix)
    where.add_filters(("key > ?", after or None))
    sql = f"SELECT {_COLUMNS} FROM records WHERE {where} ORDER BY key LIMIT ?"
    return [decode_row(Record, row) for row in db.fetch_all(sql, [*where.params, max(0, limit)])]


def stamp_records(db: Db, kind: str, principal: Principal) -> str:
    """Returns a text that changes whenever a record of a kind and a person is put or deleted."""
    row = db.fetch_one(
        "SELECT count(*) AS n, sum(revision) AS revisions, max(updated_at) AS last FROM records "
        "WHERE kind = ? AND principal = ?",
        (escape(kind), escape(principal)),
    )
    assert row is not None
    return f"{row['n']} {row['revisions']} {row['last']}"


def delete_record(db: Db, kind: str, key: str, *, expect: int | None = None) -> bool:
    """Deletes a record; returns whether it existed. `expect` is that of `put_record`."""
    where = Conditions()
    where.add_filters(("kind = ?", kind), ("key = ?", key), ("revision = ?", expect))
    row = db.fetch_one(f"DELETE FROM records WHERE {where} RETURNING session_id", where.params)
    if row is None:
        if expect is not None and (current := _revision(db, kind, key)):
            raise _conflict(kind, key, expected=expect, current=current)
        return False
    if row["session_id"] is not None:
        _record_change(db, row["session_id"])
    return True
