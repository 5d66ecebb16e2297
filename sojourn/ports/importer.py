"""Foreign histories: found, read, never written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sojourn.core.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHistory:
    """A history on this machine. `problem` says why it cannot be read; then it is not empty, it is unreadable."""

    source: str  # hermes, claude-code, codex, opencode
    home: Path
    sessions: int = 0
    bytes: int = 0
    version: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session of a history, before it is read. The fingerprint changes when the session does."""

    native_id: str
    fingerprint: str
    problem: str = ""  # why it will be skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A whole foreign session. `fields` are columns of `sessions` by name; each message carries its native_id."""

    native_id: str
    fields: Mapping[str, Any]
    messages: Sequence[Message]
    records: Sequence[tuple[str, str]] = ()  # (kind, JSON text): what is not a message, kept verbatim
    warnings: tuple[str, ...] = field(default=())


class HistoryReader(Protocol):
    """An opened history."""

    def sessions(self) -> Iterator[SessionEntry]:
        """Oldest start first; parents before children."""

    def read(self, native_id: str) -> Transcript: ...  # SourceUnreadable


@runtime_checkable
class HasProfiles(Protocol):
    """A program whose home may hold further homes of its own."""

    def profiles(self, home: Path) -> list[FoundHistory]: ...


class Importer(Protocol):
    """One foreign program."""

    name: str
    label: str

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        """Looks in the usual places; opens nothing for writing, reads no credentials."""

    def claims(self, path: Path) -> FoundHistory | None:
        """Whether a path given by the person is such a history."""

    def open(self, home: Path) -> AbstractContextManager[HistoryReader]: ...  # SourceUnreadable
