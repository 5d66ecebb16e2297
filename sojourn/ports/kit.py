"""Kit: what a surface is given to work with, wired in `compose.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sojourn.core.sessions import OWNER, Principal, SessionId

if TYPE_CHECKING:  # every command is given a Kit and few need all of these: making their classes takes its time
    from sojourn.core.errors import SojournError
    from sojourn.core.settings import Settings
    from sojourn.ports.admin import Progress
    from sojourn.ports.context import ContextSource
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
    from sojourn.ports.plugin import Plugin
    from sojourn.ports.runtime import Runtime
    from sojourn.ports.service import Service
    from sojourn.ports.store import Removed
    from sojourn.ports.tool import Tool
    from sojourn.ports.whole import WholeStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What an import did: found N, imported N, unchanged N, skipped N because …"""

    source: str
    home: str
    found: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: tuple[tuple[str, str], ...] = ()  # (native id, because)
    new_messages: int = 0
    removed_upstream: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""  # the whole history is there but cannot be read
    dry_run: bool = False
    seconds: float = field(default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """What `store migrate` moved, and the proof that both sides agree."""

    rows: tuple[tuple[str, int, str], ...]  # table, rows, content hash
    seconds: float


class Kit(Protocol):
    """The same for every surface. `store` opens on first use; `close` lets go."""

    settings: Settings

    @property
    def store(self) -> WholeStore: ...
    def plugins(self) -> Sequence[Plugin]: ...  # those that work
    def plugin_problems(self) -> Mapping[str, SojournError]: ...  # the others, by name
    def load(self, dotted: str) -> object: ...  # what a plugin's dotted name stands for
    def configured(self, plugin: str) -> Any: ...  # its settings, in its own dataclass
    @property
    def service(self) -> Service: ...  # turns run in this process
    @property
    def facts(self) -> FactLibrary: ...
    @property
    def skills(self) -> SkillLibrary: ...
    @property
    def templates(self) -> TemplateLibrary: ...
    async def connect(self, *, in_process: bool = False) -> Service:
        """The service of this home's server, which is started if there is none; `in_process` is the one above."""
        ...

    def runtime_names(self) -> tuple[str, ...]: ...
    def runtime(self, name: str) -> Runtime: ...  # made on first use; NotFound, Missing, BadConfig
    def tools(self) -> tuple[Tool, ...]: ...
    def context(self) -> tuple[ContextSource, ...]: ...
    def shared(self, kind: type[T]) -> T:
        """The one `kind(kit)` of this kit, made on first use from any thread; closed with the kit if it can be."""
        ...

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]: ...
    async def rescue(
        self,
        found: FoundHistory,
        *,
        dry_run: bool = False,
        principal: Principal = OWNER,
        progress: Progress | None = None,
    ) -> ImportReport: ...
    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed: ...
    def purge(self, removed: Removed) -> Removed: ...  # deletes the copies that still hold it
    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path: ...
    async def restore(self, source: Path, *, progress: Progress | None = None) -> None: ...
    async def migrate(self, to: str, *, progress: Progress | None = None) -> MoveReport: ...
    async def add_samples(self) -> int: ...
    async def close(self) -> None: ...
