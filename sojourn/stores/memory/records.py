"""Records in a dictionary, by kind and key."""

from __future__ import annotations

from sojourn.core.sessions import Lease, Principal, SessionId
from sojourn.ports.records import Record
from sojourn.stores.journal import RECORDS
from sojourn.stores.memory.data import Data, Row
from sojourn.stores.memory.log import check
from sojourn.stores.memory.waking import Waking
from sojourn.stores.records import not_as_expected, record_from, record_row
from sojourn.text.escape import escape


def put(
    data: Data, record: Record, expect: int | None, lease: Lease | None, *, rung: SessionId | None = None
) -> Record:
    row = record_row(record, data.redact, now=data.clock())
    if lease is not None:
        check(data, lease)
    if record.session is not None:
        data.session(record.session)
    records, key = data.tables["records"], (row["kind"], row["key"])
    old = records.get(key)
    found = old["revision"] if old else 0
    if expect is not None and expect != found:
        raise not_as_expected(record.kind, record.key, expect=expect, found=found)
    if old:
        row |= {"revision": found + 1, "created_at": old["created_at"]}
    records[key] = row
    if record.session is None:
        data.touched.add(RECORDS)
    elif record.session != rung:
        data.changed(record.session, "changed")
    return record_from(row)


def delete(data: Data, kind: str, key: str, expect: int | None, *, rung: SessionId | None = None) -> bool:
    names = escape(kind), escape(key)
    row = data.tables["records"].get(names)
    if row is None:
        return False
    if expect is not None and expect != row["revision"]:
        raise not_as_expected(kind, key, expect=expect, found=row["revision"])
    del data.tables["records"][names]
    if row["session_id"] not in (None, rung):
        data.changed(row["session_id"], "changed")
    return True


def _is_listed(row: Row, kind: str, principal: Principal | None, session: SessionId | None, prefix: str) -> bool:
    return (
        row["kind"] == escape(kind)
        and row["key"].startswith(escape(prefix))
        and (principal is None or row["principal"] == escape(principal))
        and (session is None or row["session_id"] == session)
    )


class MemoryRecords(Waking):
    """RecordStore over a dictionary."""

    async def put_record(self, record: Record, *, expect: int | None = None, lease: Lease | None = None) -> Record:
        with self._writing() as data:
            return put(data, record, expect, lease)

    async def get_record(self, kind: str, key: str) -> Record | None:
        row = self._data.tables["records"].get((escape(kind), escape(key)))
        return record_from(row) if row else None

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
        rows = self._data.tables["records"].values()
        found = [row for row in rows if _is_listed(row, kind, principal, session, prefix)]
        found = [row for row in found if not after or row["key"] > escape(after)]
        return [record_from(row) for row in sorted(found, key=lambda row: str(row["key"]))[: max(0, limit)]]

    async def delete_record(self, kind: str, key: str, *, expect: int | None = None) -> bool:
        with self._writing() as data:
            return delete(data, kind, key, expect)
