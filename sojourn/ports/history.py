"""Raw rows in bulk, for scanners.

A `History` is synchronous and picklable: a scanner hands it to worker processes, and each opens
the data for itself on first use. It never writes. The stores and the Hermes source implement it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

# Seconds since 1970. A foreign history may have text or nothing there instead, and that is shown as it is.
Moment: TypeAlias = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """What a scanner needs to know about a session before it reads it: identity and change signals."""

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
    principal: str = "owner"  # whose it is; a foreign history is its owner's
    malformed: int = 0  # values of its row that could not be taken as they are
    born: int = 0  # grows in order of insertion

    @property
    def order(self) -> tuple[Any, ...]:
        """Where it stands among others: newest start first, ties in order of insertion; what is no time, apart."""
        started = self.started_at
        if started is None:
            return 2, 0, self.born
        if isinstance(started, str):
            return 0, (*(-ord(letter) for letter in started), 1), self.born
        return 1, -started, self.born


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of the sessions since they were last asked for."""

    facts: tuple[SessionFacts, ...]  # those that came or changed, as they look now
    gone: tuple[str, ...] = ()


# One live row as it was stored: (row number, role, content, structured, tool calls, tool name).
# Text is UTF-8 bytes, because that is what a scanner searches; `content` is JSON when `structured` is true.
RawMessage: TypeAlias = tuple[int, bytes | None, bytes | None, bool, bytes | None, bytes | None]
# The same, and what ties an answer to its call: (…, tool call id, effect disposition, extra).
RawExchange: TypeAlias = tuple[
    int, bytes | None, bytes | None, bool, bytes | None, bytes | None, bytes | None, bytes | None, bytes | None
]


class History(Protocol):
    """A readable past, row by row."""

    def fingerprint(self) -> Hashable | None:
        """Equal to an earlier mark of this very object only if nothing was written since; None when unknown.

        Asking is cheap: this is how a scanner in a running process sees that there is nothing to do.
        """

    def sessions(self) -> list[SessionFacts]:
        """Every session, newest start first, ties in order of insertion. Archived ones too."""

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        """The live rows of each session, in order, one session at a time.

        A damaged session raises `StoreCorrupt`; the caller may go on with the sessions after it.
        """

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        """The opening words of the first user message of each session that has one."""

    def close(self) -> None:
        """Lets go of files and connections; using the object again opens them again."""


@runtime_checkable
class HasToolExchanges(Protocol):
    """A history that also tells which answer belongs to which tool call."""

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        """The live rows in which a person speaks, tools are asked or tools answer, in order, session by session.

        What an assistant says beside its calls is left out: its `content` is None.
        """


@runtime_checkable
class HasSize(Protocol):
    """A history that tells at once how large it is."""

    def size(self) -> int:
        """Bytes on disk, roughly; 0 when that cannot be told."""


@runtime_checkable
class HasChangeFeed(Protocol):
    """A history that need not list everything to say what changed."""

    def changes(self) -> Changes | None:
        """Since `sessions` or this was last asked, of this very object; None when all have to be listed again."""
