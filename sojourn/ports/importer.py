"""Importer: finds and reads the histories of other programs, read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sojourn.core.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundHistory:
    """A history on this machine. `problem` says why it cannot be read."""

    source: str  # hermes, claude-code, codex, opencode
    home: Path
    sessions: int = 0
    bytes: int = 0
    version: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session of a history before it is read. Its fingerprint changes with the session."""

    native_id: str
    fingerprint: str
    problem: str = ""  # why it will be skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A whole foreign session. `fields` are columns of `sessions` by name; each message carries its native_id."""

    native_id: str
    fields: Mapping[str, Any]
    messages: Sequence[Message]
    records: Sequence[tuple[str, str]] = ()  # (kind, JSON text) of everything that is not a message, verbatim
    warnings: tuple[str, ...] = field(default=())


class HistoryReader(Protocol):
    """An open history."""

    def sessions(self) -> Iterator[SessionEntry]:
        """The sessions, oldest start first, parents before children."""

    def read(self, native_id: str) -> Transcript: ...  # SourceUnreadable


@runtime_checkable
class HasProfiles(Protocol):
    """A program whose home may contain further homes."""

    def profiles(self, home: Path) -> list[FoundHistory]: ...


class Importer(Protocol):
    """The importer of one program."""

    name: str
    label: str

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        """Finds histories in the usual places; opens nothing for writing and reads no credentials."""

    def claims(self, path: Path) -> FoundHistory | None:
        """The history at a path that a person named; None if it is not one."""

    def open(self, home: Path) -> AbstractContextManager[HistoryReader]: ...  # SourceUnreadable
