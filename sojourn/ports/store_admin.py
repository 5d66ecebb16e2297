"""Store administration: statistics, verification, backups, migration, and bulk import of sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from sojourn.core.sessions import Principal, SessionId
from sojourn.ports.importer import Transcript

Progress = Callable[[str, int, int], None]  # what, done, of
SQLITE_APPLICATION_ID = 0x534A524E  # "SJRN": marks a store and its backups in the header of the SQLite file


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """Sizes and counts of a store."""

    kind: str
    place: str
    schema: int
    sessions: int
    messages: int
    events: int
    not_indexed: int
    bytes: int
    bytes_by: Mapping[str, int]
    sessions_by_source: Mapping[str, int]
    messages_by_role: Mapping[str, int]
    records: int = 0
    redacted: int = 0  # secrets found in what an older version had stored


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """The result of an integrity check. Each problem is a sentence."""

    checked: Mapping[str, int]
    problems: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """The outcome for one foreign session."""

    native_id: str
    session: SessionId | None
    outcome: Literal["imported", "updated", "unchanged", "forgotten"]
    new_messages: int = 0
    changed_messages: int = 0
    removed_upstream: int = 0  # rows the source no longer has; ours are kept
    note: str = ""


class StoreAdmin(Protocol):
    """What an operator does with a store. Tables are exported in key order, so that two stores can be compared."""

    async def stats(self, *, by_part: bool = True) -> StoreStats: ...  # without, `bytes_by` may be empty: it is slow
    async def verify(self, progress: Progress | None = None) -> VerifyReport: ...
    async def backup(self, target: Path, progress: Progress | None = None) -> Path: ...
    async def restore(self, source: Path, progress: Progress | None = None) -> None: ...
    async def export_rows(self, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]: ...
    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None: ...
    async def is_empty(self) -> bool: ...
    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]: ...  # name, columns, key


class Ingest(Protocol):
    """Bulk import, idempotent by (source, source home, native session id, native message id)."""

    async def list_fingerprints(self, source: str, home: str) -> dict[str, str]:
        """The fingerprint under which each session of a history was last imported."""

    async def list_forgotten(self, source: str, home: str, native_ids: Sequence[str]) -> set[str]:
        """Those of `native_ids` that were forgotten here and must not be imported again."""

    async def ingest(
        self, source: str, home: str, batch: Sequence[tuple[str, Transcript]], *, principal: Principal
    ) -> list[Ingested]:
        """Imports what is new in each (fingerprint, transcript), in one transaction."""

    async def index(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Adds messages that are not yet searchable to the index; returns how many."""
