"""Looking after a store: figures, proofs, copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Progress = Callable[[str, int, int], None]  # what, done, of
SQLITE_APPLICATION_ID = 0x534A524E  # "SJRN": marks a store and its backups in the header of the SQLite file


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreStats:
    """The store in figures. `bytes_by` says what takes the room."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyReport:
    """Whether the store is whole. Each problem is a sentence."""

    checked: Mapping[str, int]
    problems: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        return not self.problems


class StoreAdmin(Protocol):
    """What an operator may do; implemented beside SessionStore."""

    async def stats(self) -> StoreStats: ...
    async def verify(self, progress: Progress | None = None) -> VerifyReport: ...
    async def backup(self, target: Path, progress: Progress | None = None) -> Path: ...
    async def restore(self, source: Path, progress: Progress | None = None) -> None: ...

    # moving: every table by name, in key order, so that two stores can be compared
    async def export_rows(self, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]: ...
    async def import_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None: ...
    async def is_empty(self) -> bool: ...
    def tables(self) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]: ...  # name, columns, key
