"""Lease guard: an UPDATE of a session row that only succeeds while the turn lease and the driver are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.core.errors import LeaseLost, NotDriving
from sojourn.core.sessions import Lease
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.sessions import session_not_found
from sojourn.text.escape import unescape

CLEAR_LEASE = "lease_until = NULL, lease_holder = NULL, lease_surface = NULL, lease_since = NULL"
HOLDS_LEASE = "id = ? AND lease_fence = ? AND driver_fence = ? AND lease_until IS NOT NULL"


def update_guarded(db: Db, lease: Lease, assignments: str, params: Sequence[Any] = ()) -> None:
    """Updates the session row if the lease still holds; raises the reason if it does not."""
    is_updated = db.execute(
        f"UPDATE sessions SET {assignments} WHERE {HOLDS_LEASE}",
        [*params, lease.session, lease.fence, lease.driver_fence],
    )
    if not is_updated:
        raise lease_lost(db, lease)


def check_lease(db: Db, lease: Lease) -> None:
    """Locks the session row and checks that the lease still holds."""
    update_guarded(db, lease, "lease_fence = lease_fence")


def lease_lost(db: Db, lease: Lease) -> LeaseLost | NotDriving:
    """Returns the reason why a guarded UPDATE changed nothing."""
    row = db.fetch_one(
        "SELECT driver, driver_fence, lease_holder, lease_surface, lease_fence FROM sessions WHERE id = ?",
        (lease.session,),
    )
    if row is None:
        raise session_not_found(lease.session)
    if row["driver_fence"] != lease.driver_fence:
        return NotDriving(lease.session, driver=unescape(row["driver"] or "nobody"), asked=lease.surface)
    holder = unescape(f"{row['lease_holder']} ({row['lease_surface']})") if row["lease_holder"] else "nobody"
    return LeaseLost(
        f'The turn lease on session "{lease.session}" was lost; it is now held by {holder}.',
        hint="What was stored before is safe. Start the turn again.",
    )
