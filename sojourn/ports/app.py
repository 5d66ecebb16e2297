"""The application as its parts see it: small protocols, and AppContext as their sum. `sojourn.app` implements it.

A part annotates the smallest protocol that has what it uses. Only the composition root and the command line take the
whole AppContext.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from sojourn.core.sessions import OWNER, Principal, SessionId

if TYPE_CHECKING:  # every command imports this module, and few need all of these
    from sojourn.core.errors import SojournError
    from sojourn.core.settings import Settings
    from sojourn.lazy import Lazy
    from sojourn.ports.admin import Progress
    from sojourn.ports.context import ContextSource
    from sojourn.ports.history import History
    from sojourn.ports.importer import FoundHistory
    from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
    from sojourn.ports.pages import PluginPages
    from sojourn.ports.plugin import Part, Plugin
    from sojourn.ports.runtime import Runtime
    from sojourn.ports.service import Service
    from sojourn.ports.store import Removed, Store
    from sojourn.ports.tool import CallJudge, Tool

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


class HasSettings(Protocol):
    """The settings of this process."""

    @property
    def settings(self) -> Settings: ...


class HasStore(HasSettings, Protocol):
    """The settings, and the store they name."""

    @property
    def store(self) -> Store:
        """The store; it is opened on first use."""


class PluginAccess(HasSettings, Protocol):
    """The plugins of this process and their parts."""

    def plugins(self) -> Sequence[Plugin]:
        """The plugins that could be loaded, built-in ones first."""

    def plugin_problems(self) -> Mapping[str, SojournError]:
        """What is wrong with the other plugins, by their names."""

    @overload
    def load(self, part: Lazy[T]) -> T: ...
    @overload
    def load(self, part: Part) -> object: ...
    def load(self, part: Any) -> Any:
        """Imports a part that is given by its dotted name; any other object is returned as it is.

        Raises Missing when the part needs a package that is not installed.
        """

    def configured(self, plugin: str) -> Any:
        """The settings of the plugin of that name, in its own dataclass; None for a plugin without settings."""


class Shared(Protocol):
    """Objects of which one application has exactly one."""

    def shared(self, kind: type[T]) -> T:
        """The one `kind(app)` of this application, made on first use from any thread.

        It is closed with the application if it has a `close`.
        """


class PluginContext(HasStore, PluginAccess, Shared, Protocol):
    """What most parts of a plugin are made with: settings, store, plugins and shared objects."""


class AgentParts(Protocol):
    """What a turn is run with."""

    def runtime_names(self) -> tuple[str, ...]:
        """The names of all runtimes, in the order of their plugins."""

    def runtime(self, name: str) -> Runtime:
        """The runtime of that name, made on first use. Raises NotFound, Missing or BadConfig."""

    def tools(self) -> tuple[Tool, ...]:
        """The tools of all plugins, each behind the guard that asks before it acts."""

    def context(self) -> tuple[ContextSource, ...]:
        """The context sources of all plugins."""

    def call_judge(self) -> CallJudge:
        """The function that tells from a tool's result whether its call worked."""


class Histories(Protocol):
    """Histories of other agents: on disk, and brought into our store."""

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        """Finds histories in their usual places, or the one at `path`; `source` narrows to one program."""

    async def import_history(
        self,
        found: FoundHistory,
        *,
        dry_run: bool = False,
        principal: Principal = OWNER,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Copies what is new in a history into the store. `dry_run`: only reports what it would do."""

    def open_hermes_history(self, home: Path) -> History:
        """Opens the history of a Hermes home for scanners, read-only."""

    def open_history(self, home: Path) -> History:
        """Opens the history of a home folder, of Sojourn or of Hermes, read-only. Raises NotFound."""


class ScanContext(PluginContext, Histories, Protocol):
    """What a scanner of histories is made with: our own store's history, and those of Hermes homes."""


class StoreMaintenance(Protocol):
    """Work on the store as a whole."""

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        """Erases a session from the store and from every plugin; `purge_backups` deletes the copies that hold it."""

    def purge(self, removed: Removed) -> Removed:
        """Deletes the copies that still hold a forgotten session."""

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copies the whole store into one file at `target`, or into a new file of that folder."""

    async def restore(self, source: Path, *, progress: Progress | None = None) -> None:
        """Puts the copy at `source` in the place of the store."""

    async def migrate(self, to: str, *, progress: Progress | None = None) -> MoveReport:
        """Copies the store into an empty one: a PostgreSQL address, or the path of a home folder."""

    async def add_samples(self) -> int:
        """Adds a few sample sessions and returns their number."""


class ServiceAccess(Protocol):
    """The service, in this process or in a server."""

    @property
    def service(self) -> Service:
        """The service that runs turns in this process."""

    async def connect(self, *, in_process: bool = False) -> Service:
        """The service of this home's server, which is started if none runs; `in_process`: the one of this process."""


class PageHost(Protocol):
    """The plugins with a dashboard page."""

    def plugin_pages(self) -> PluginPages:
        """Lists dashboard plugins and turns them on and off; no server needs to run."""


class Libraries(Protocol):
    """What the service tells about facts, skills and templates."""

    @property
    def facts(self) -> FactLibrary: ...
    @property
    def skills(self) -> SkillLibrary: ...
    @property
    def templates(self) -> TemplateLibrary: ...


class AgentContext(PluginContext, AgentParts, Libraries, ServiceAccess, Protocol):
    """What the service runs turns with."""


class AppContext(AgentContext, ScanContext, StoreMaintenance, PageHost, Protocol):
    """The whole application: the sum of the protocols above."""

    async def close(self) -> None:
        """Closes the service, the runtimes, the shared objects and the store, as far as they were opened."""
