"""Events for many logs at once, in a handful of statements.

Each statement makes the writer's thread give way to the others and wait for its turn again; with hundreds of turns
under way that is where the time goes. So what many turns say at the same moment is handed over as one list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import LeaseLost
from sojourn.core.events import Yielded
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import append, shown
from sojourn.stores.sqlite.db import SqliteDb

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_COUNT = (
    "UPDATE sessions SET last_seq = last_seq + v.n, last_active = ?, ended_at = NULL, end_reason = NULL "
    "FROM (SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS fence, "
    "json_extract(value, '$[2]') AS driver, json_extract(value, '$[3]') AS n FROM json_each(?)) v "
    "WHERE sessions.id = v.id AND lease_fence = v.fence AND driver_fence = v.driver AND lease_until IS NOT NULL"
)
_WHERE = (
    "SELECT json_group_array(json_array(id, last_seq)) AS found FROM sessions "
    "WHERE id IN (SELECT json_extract(value, '$[0]') FROM json_each(?))"
)
_EVENTS = (
    "INSERT INTO events(session_id, seq, turn_id, name, data, at) SELECT json_extract(value, '$[0]'), "
    "json_extract(value, '$[1]'), json_extract(value, '$[2]'), json_extract(value, '$[3]'), "
    "json_extract(value, '$[4]'), ? FROM json_each(?)"
)
_CHANGES = (
    "INSERT INTO changes(session_id, kind, n, at) SELECT json_extract(value, '$[0]'), 'log', "
    "(SELECT COALESCE(max(n), 0) + 1 FROM changes) + key, ? FROM json_each(?) WHERE true "
    "ON CONFLICT (session_id, kind) DO UPDATE SET n = excluded.n, at = excluded.at"
)


@dataclass(frozen=True, slots=True)
class Append:
    """One `append`, as a piece of work that can be done together with others of its kind."""

    lease: Lease
    items: Sequence[Yielded]
    turn: TurnId | None

    def __call__(self, db: Db) -> list[Recorded]:
        return append(db, self.lease, self.items, self.turn)

    @property
    def is_show(self) -> bool:
        """Only events: messages also count, and are looked for."""
        return bool(self.items) and not any(isinstance(item, Message) for item in self.items)


def run_all(db: SqliteDb, works: Sequence[Callable[[Any], Any]]) -> list[Any]:
    """Does everything in order; neighbours that only add events, to a session each, are done together."""
    results: list[Any] = []
    group: dict[str, Append] = {}
    for work in works:
        joining = work if isinstance(work, Append) and work.is_show else None
        if group and (joining is None or joining.lease.session in group):
            results += _add(db, list(group.values()))
            group = {}
        if joining is not None:
            group[joining.lease.session] = joining
        else:
            results.append(work(db))
    return results + (_add(db, list(group.values())) if group else [])


def _add(db: SqliteDb, group: Sequence[Append]) -> list[list[Recorded]]:
    if len(group) == 1:
        return [group[0](db)]
    now = db.now()
    leases = _JSON.encode([[w.lease.session, w.lease.fence, w.lease.driver_fence, len(w.items)] for w in group])
    if db.run(_COUNT, (now, leases)) != len(group):
        raise LeaseLost("A lease was lost.", hint="Each is tried alone now, and told.")
    found = db.one(_WHERE, (leases,))
    assert found is not None
    last = dict(json.loads(found["found"]))
    rows: list[Sequence[Any]] = []
    kept = [_numbered(db, work, last[work.lease.session], now, rows) for work in group]
    db.run(_EVENTS, (now, _JSON.encode(rows)))
    db.run(_CHANGES, (now, leases))
    for work, added in zip(group, kept, strict=True):
        db.touched.add(work.lease.session)
        db.kept.setdefault(work.lease.session, []).extend(added)
    return kept


def _numbered(db: SqliteDb, work: Append, last: int, now: float, rows: list[Sequence[Any]]) -> list[Recorded]:
    kept = []
    for seq, item in enumerate(work.items, last - len(work.items) + 1):
        assert not isinstance(item, Message)
        name, text, as_kept = shown(db, item)
        rows.append((work.lease.session, seq, work.turn, name, text))
        kept.append(Recorded(session=work.lease.session, seq=seq, at=now, item=as_kept, turn=work.turn))
    return kept
