"""Words in the log and what is kept in the same moment with them."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.events import Yielded
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.ports.store import SideWrites
from sojourn.stores.memory import log, records
from sojourn.stores.memory.data import Data


def append(
    data: Data, lease: Lease, items: Sequence[Yielded], turn: TurnId | None, along: SideWrites
) -> list[Recorded]:
    kept = log.append(data, lease, items, turn)
    if not kept:
        return kept
    for record in along.new:
        records.put(data, record, 0, None, rung=lease.session)
    for record in along.put:
        records.put(data, record, None, None, rung=lease.session)
    for kind, key in along.drop:
        records.delete(data, kind, key, None, rung=lease.session)
    if along.release_lease:
        log.renew(data, lease, 0)
    return kept
