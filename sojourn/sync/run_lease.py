"""Run lease: one sync of a folder at a time, whichever process or machine uses the store."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sojourn.core.errors import Conflict
from sojourn.ports.store import Record, RecordStore

_KIND = "sync_run"
LEASE_SECONDS = 120.0  # after which a killed run no longer blocks


class RunLease:
    """Held while a run works, and renewed by it. Two at once would write different bundles under one number."""

    def __init__(self, store: RecordStore, group: str, record: Record) -> None:
        self._store, self._group, self._record = store, group, record

    async def renew(self) -> None:
        """Conflict if another run has taken over meanwhile."""
        now = time.time()
        if float(self._record.value["until"]) - now < LEASE_SECONDS / 2:
            value = {"until": now + LEASE_SECONDS}
            record = Record(kind=_KIND, key=self._group, value=value)
            self._record = await self._store.put_record(record, expect=self._record.revision)

    async def release(self) -> None:
        with suppress(Conflict):
            await self._store.delete_record(_KIND, self._group, expect=self._record.revision)


@asynccontextmanager
async def hold_run(store: RecordStore, group: str) -> AsyncIterator[RunLease]:
    """Conflict while another run of this store works on the folder."""
    found = await store.get_record(_KIND, group)
    if found is not None and time.time() < float(found.value["until"]):
        raise Conflict(
            "This folder is being synced by another process.",
            hint=f"Wait for it; after a crash, at most {LEASE_SECONDS:g} seconds.",
        )
    value = {"until": time.time() + LEASE_SECONDS}
    record = await store.put_record(
        Record(kind=_KIND, key=group, value=value), expect=found.revision if found is not None else 0
    )
    lease = RunLease(store, group, record)
    try:
        yield lease
    finally:
        await lease.release()
