"""Records: small JSON documents beside the sessions, each under a kind and a key.

A runtime's own state, facts a person wants remembered, templates, task graphs, pairings: what needs a
name, an owner, safe concurrent change, and to go when its session goes, but no table of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Lease, Principal, SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One document. `revision` is 1 when it is new and grows with each change."""

    kind: str
    key: str
    value: Json
    principal: Principal = OWNER
    session: SessionId | None = None  # deleted and forgotten together with it
    revision: int = 0
    created_at: float = 0.0
    updated_at: float = 0.0


class RecordStore(Protocol):
    """Keys are compared exactly and listed in order."""

    async def put_record(self, record: Record, *, expect: int | None = None, lease: Lease | None = None) -> Record:
        """Keeps it, redacted like messages. `expect` is the revision it must have now (0: it must not exist),
        else Conflict; None replaces whatever is there. With `lease`, only while that is held (LeaseLost, NotDriving).
        """

    async def get_record(self, kind: str, key: str) -> Record | None: ...
    async def list_records(
        self,
        kind: str,
        *,
        principal: Principal | None = None,
        session: SessionId | None = None,
        prefix: str = "",
        after: str = "",
        limit: int = 1000,
    ) -> list[Record]: ...  # by key

    async def delete_record(self, kind: str, key: str, *, expect: int | None = None) -> bool: ...
