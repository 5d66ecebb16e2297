"""History: raw rows in bulk for scanners.

A `History` is synchronous, read-only and picklable: a scanner passes it to worker processes, and each opens the data on
first use. The stores and the Hermes importer implement it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

# Seconds since 1970; in a foreign history also text or None.
Moment: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Identity and change signals of a session, before a scanner reads it."""

    id: str
    source: str | None
    title: str | None
    model: str | None
    started_at: Moment
    archived: bool
    last_active: Moment  # newest message time over all rows, else started_at
    rows: int  # rows of any kind, removed ones included
    active_rows: int  # rows that are part of the live transcript
    last_row: int  # highest row number, 0 when empty
    rewinds: int
    principal: str = "owner"  # the owner's in a foreign history
    malformed: int = 0  # values of its row that could not be decoded
    born: int = 0  # grows in order of insertion

    @property
    def order(self) -> tuple[Any, ...]:
        """Sort key: newest start first, ties in order of insertion; starts that are not times apart."""
        started = self.started_at
        if started is None:
            return 2, 0, self.born
        if isinstance(started, str):
            return 0, (*(-ord(letter) for letter in started), 1), self.born
        return 1, -started, self.born


@dataclass(frozen=True, slots=True)
class HistoryChanges:
    """Sessions that changed since the last call."""

    facts: tuple[SessionFacts, ...]  # new and changed sessions
    gone: tuple[str, ...] = ()


# One live row as stored: (row number, role, content, structured, tool calls, tool name).
# Text is UTF-8 bytes, because scanners search bytes; `content` is JSON if `structured` is true.
RawMessage: TypeAlias = tuple[int, bytes | None, bytes | None, bool, bytes | None, bytes | None]
# The same with (…, tool call id, effect disposition, extra).
RawExchange: TypeAlias = tuple[
    int, bytes | None, bytes | None, bool, bytes | None, bytes | None, bytes | None, bytes | None, bytes | None
]


class History(Protocol):
    """The rows of all sessions."""

    def fingerprint(self) -> Hashable | None:
        """A cheap value that stays the same while nothing is written; None if unknown. Valid for this object only."""

    def sessions(self) -> list[SessionFacts]:
        """Every session by `SessionFacts.order`, archived ones included."""

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        """The live rows of each session, in order. StoreCorrupt for a damaged one; the caller may continue after it."""

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        """The first words of the first user message of each session that has one."""

    def close(self) -> None:
        """Closes files and connections; the next use opens them again."""


@runtime_checkable
class HasToolExchanges(Protocol):
    """A history that links tool results to their calls."""

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        """The live rows of users, of tool calls (their `content` is None) and of tool results, session by session."""


@runtime_checkable
class HasSize(Protocol):
    """A history that knows its size."""

    def size(self) -> int:
        """Approximate bytes on disk; 0 if unknown."""


@runtime_checkable
class HasChangeFeed(Protocol):
    """A history that can list only what changed."""

    def changes(self) -> HistoryChanges | None:
        """Changes since the last call of this or `sessions` on this object; None if all must be listed again."""
