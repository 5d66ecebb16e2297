"""A whole store: everything a database of ours can do, under one name."""

from __future__ import annotations

from typing import Protocol

from sojourn.ports.admin import StoreAdmin
from sojourn.ports.blobs import BlobStore
from sojourn.ports.gateway_store import GatewayStore
from sojourn.ports.handoffs import HandoffStore
from sojourn.ports.history import History
from sojourn.ports.ingest import Ingest
from sojourn.ports.records import RecordStore
from sojourn.ports.store import SessionStore


class WholeStore(SessionStore, Ingest, StoreAdmin, BlobStore, RecordStore, HandoffStore, GatewayStore, Protocol):
    """What the stores implement; surfaces ask for the smaller ports."""

    def history(self) -> History:
        """The same data for scanners: synchronous, picklable, read-only."""
        ...
