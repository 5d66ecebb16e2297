"""The application as its parts see it: small protocols, and AppContext as their sum. `sojourn.app` implements it.

A part annotates the smallest protocol it can use; only the composition root and the command line take AppContext.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from sojourn.core.sessions import SessionId

if TYPE_CHECKING:  # every command imports this module, and few need all of these
    from sojourn.core.errors import SojournError
    from sojourn.core.settings import Settings
    from sojourn.lazy import Lazy
    from sojourn.ports.context import ContextSource
    from sojourn.ports.history import History
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
    from sojourn.ports.plugin import Part, Plugin
    from sojourn.ports.runtime import Runtime
    from sojourn.ports.service import Service
    from sojourn.ports.store import Removed, Store
    from sojourn.ports.store_admin import Progress
    from sojourn.ports.tool import CallJudge, Tool

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """The result of an import."""

    source: str
    home: str
    found: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: tuple[tuple[str, str], ...] = ()  # (native id, reason)
    new_messages: int = 0
    removed_upstream: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""  # why the whole history cannot be read
    dry_run: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveReport:
    """The result of `store migrate`: both sides have these rows."""

    rows: tuple[tuple[str, int, str], ...]  # table, rows, content hash
    seconds: float


class HasSettings(Protocol):
    """The settings of this process."""

    @property
    def settings(self) -> Settings: ...


class HasStore(HasSettings, Protocol):
    """The settings, and the store they name, opened on first use."""

    @property
    def store(self) -> Store: ...


class PluginAccess(HasSettings, Protocol):
    """The plugins of this process and their parts."""

    def plugins(self) -> Sequence[Plugin]: ...  # those that could be loaded, built-in ones first
    def plugin_problems(self) -> Mapping[str, SojournError]: ...  # why the others could not be loaded, by name
    @overload
    def load(self, part: Lazy[T]) -> T: ...
    @overload
    def load(self, part: Part) -> object: ...
    def load(self, part: Any) -> Any:
        """Imports a part given by its dotted name; returns any other object unchanged. MissingPackage."""

    def configured(self, plugin: str) -> Any:
        """The settings of a plugin in its own dataclass; None for a plugin without settings."""


class Shared(Protocol):
    """Objects of which an application has exactly one."""

    def shared(self, kind: type[T]) -> T:
        """The only `kind(app)`, created on first use from any thread, and closed with the application."""


class PluginContext(HasStore, PluginAccess, Shared, Protocol):
    """What most parts of a plugin are created with: settings, store, plugins and shared objects."""


class AgentParts(Protocol):
    """What turns are run with, from all plugins."""

    def runtime_names(self) -> tuple[str, ...]: ...  # in the order of the plugins
    def runtime(self, name: str) -> Runtime: ...  # created on first use. NotFound, MissingPackage, BadConfig
    def tools(self) -> tuple[Tool, ...]: ...  # each behind the guard that asks before it acts
    def context(self) -> tuple[ContextSource, ...]: ...
    def call_judge(self) -> CallJudge: ...


class Histories(Protocol):
    """Histories of other agents: on disk, and imported into our store."""

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        """Finds histories in their usual places, or the one at `path`; `source` limits it to one program."""

    async def import_history(
        self, found: FoundHistory, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        """Copies what is new in a history into the store; `dry_run` only reports what it would do."""

    def open_hermes_history(self, home: Path) -> History: ...
    def open_history(self, home: Path) -> History:
        """Opens the history of a home folder of Sojourn or Hermes, read-only. NotFound."""


class ScanContext(PluginContext, Histories, Protocol):
    """What a scanner of histories is created with."""


class StoreMaintenance(Protocol):
    """Work on the store as a whole."""

    async def delete(self, session: SessionId) -> Removed: ...  # with the files that its tools kept
    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        """Erases a session from the store and every plugin; `purge_backups` deletes the backups that hold it."""

    def purge(self, removed: Removed) -> Removed: ...  # deletes the backups that still hold a forgotten session
    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copies the whole store into the file `target`, or into a new file of that folder."""

    async def restore(self, source: Path, *, progress: Progress | None = None) -> None: ...  # replaces it with a backup
    async def migrate(self, to: str, *, progress: Progress | None = None, dry_run: bool = False) -> MoveReport:
        """Copies the store into an empty one: a PostgreSQL address, or a home folder. `dry_run` only opens both."""

    async def add_samples(self) -> int: ...  # adds a few sample sessions; returns their number


class Libraries(Protocol):
    """The libraries behind the service's facts, skills and templates."""

    @property
    def facts(self) -> FactLibrary: ...
    @property
    def skills(self) -> SkillLibrary: ...
    @property
    def templates(self) -> TemplateLibrary: ...


class ServiceAccess(Protocol):
    """The service, in this process or in a server."""

    @property
    def service(self) -> Service: ...  # runs turns in this process
    async def connect(self, *, in_process: bool = False, server: str = "") -> Service:
        """The service of this home's server, started if none runs; `in_process`: that of this process."""


class AgentContext(PluginContext, AgentParts, Libraries, ServiceAccess, Protocol):
    """What the service runs turns with."""


class AppContext(AgentContext, ScanContext, StoreMaintenance, Protocol):
    """The whole application: the sum of the protocols above."""

    async def close(self) -> None: ...  # closes whatever was opened
