"""Words in the log and what is kept in the same moment with them: one transaction, one trip to the disk."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.events import Yielded
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.ports.store import SideWrites
from sojourn.stores.sql import log, records
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.standing import NO_LEASE


def append(
    db: Db, lease: Lease, items: Sequence[Yielded], turn: TurnId | None, along: SideWrites | None
) -> list[Recorded]:
    kept = log.append(db, lease, items, turn)
    if along is None or not kept:
        return kept
    for record in along.new:
        records.keep(db, record, 0, rung=lease.session)
    for record in along.put:
        records.keep(db, record, None, rung=lease.session)
    for kind, key in along.drop:
        records.delete(db, kind, key, None, rung=lease.session)
    if along.release_lease:
        log.guard(db, lease, NO_LEASE, ())
    return kept
