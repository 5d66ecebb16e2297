"""The composition root: builds the application from the settings and the plugins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sojourn import config
from sojourn.config_plugins import load_plugin_settings
from sojourn.core.errors import BadConfig, NotFound, SojournError, SourceUnreadable, StoreUnavailable
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Secret, Settings
from sojourn.importers.import_history import get_machine, import_history
from sojourn.importers.reader_process import confine_importer
from sojourn.importers.samples import add_samples
from sojourn.plugins import (
    CALL_JUDGE,
    CONNECT,
    FACT_LIBRARY,
    GUARD_TOOL,
    LOCAL_SERVICE,
    OPEN_HERMES_HISTORY,
    OPEN_HISTORY,
    SKILL_LIBRARY,
    TEMPLATE_LIBRARY,
    Registry,
)
from sojourn.ports.app import MoveReport
from sojourn.ports.importer import HasProfiles
from sojourn.ports.plugin import parts_by_name
from sojourn.ports.tool import Tool
from sojourn.stores.erase import Eraser, erase_files, erase_logs, forget, purge
from sojourn.stores.migrate import load_backup, migrate, save_backup

if TYPE_CHECKING:
    from sojourn.ports.app import ImportReport
    from sojourn.ports.context import ContextSource
    from sojourn.ports.history import History
    from sojourn.ports.importer import FoundHistory, Importer
    from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
    from sojourn.ports.plugin import Part, Plugin
    from sojourn.ports.runtime import Runtime
    from sojourn.ports.service import Service
    from sojourn.ports.store import Removed, Store
    from sojourn.ports.store_admin import Progress
    from sojourn.ports.tool import CallJudge

T = TypeVar("T")
ACP = "acp"  # the runtime that may have several agents, each a runtime of its own: [plugins.acp.agents.NAME]


class App:
    """The AppContext of this process. The store is opened on first use."""

    def __init__(self, settings: Settings, registry: Registry | None = None) -> None:
        self.settings = settings
        self.registry = registry or Registry()
        self._open_runtimes: dict[str, Runtime] = {}
        self._shared: dict[type, Any] = {}
        self._sharing = RLock()

    @cached_property
    def store(self) -> Store:
        self.make_home()
        return self._open(self.settings)

    def make_home(self) -> None:
        """Creates the home folder, private to its owner."""
        home = self.settings.home
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            if home.stat().st_mode & 0o077 and os.access(home, os.W_OK) and os.name == "posix":
                home.chmod(0o700)
        except OSError as error:
            raise StoreUnavailable(
                f"The home folder {home} cannot be created: {error.strerror}.",
                hint="Choose another one with SOJOURN_HOME.",
            ) from error

    def _open(self, settings: Settings) -> Store:
        name = "postgres" if settings["database_url"] else "sqlite"
        factory = self.registry.plugin(name).store
        assert factory is not None
        return factory(settings)

    def plugins(self) -> Sequence[Plugin]:
        return self.registry.all()

    def plugin_problems(self) -> Mapping[str, SojournError]:
        return self.registry.problems

    def load(self, part: Any) -> Any:
        return self.registry.load(part)

    def configured(self, plugin: str) -> Any:
        kind = self.registry.plugin(plugin).settings
        return load_plugin_settings(kind, plugin, self.settings) if kind else None

    @cached_property
    def service(self) -> Service:
        return LOCAL_SERVICE.load()(self)

    @cached_property
    def facts(self) -> FactLibrary:
        return FACT_LIBRARY.load()(self)

    @cached_property
    def skills(self) -> SkillLibrary:
        return SKILL_LIBRARY.load()(self)

    @cached_property
    def templates(self) -> TemplateLibrary:
        return TEMPLATE_LIBRARY.load()(self)

    async def connect(self, *, in_process: bool = False, server: str = "") -> Service:
        if in_process:
            return self.service
        return await CONNECT.load()(self.settings, server)

    @property
    def _runtimes(self) -> dict[str, Part]:
        """The factory of each runtime by name; the first plugin that offers a name wins. ACP agents have one each."""
        found: dict[str, Part] = {}
        for plugin in self.registry.offering("runtimes"):
            for name, part in parts_by_name(plugin.runtimes).items():
                found.setdefault(name, part)
        agents = self.settings.plugins.get(ACP, {}).get("agents")
        if ACP in found and isinstance(agents, Mapping):
            for agent in agents:
                found.setdefault(f"{ACP}-{agent}", lambda app, agent=agent: self.registry.load(found[ACP])(app, agent))
        return found

    def runtime_names(self) -> tuple[str, ...]:
        return tuple(self._runtimes)

    def runtime(self, name: str) -> Runtime:
        if name not in self._open_runtimes:
            if name not in self._runtimes:
                known = ", ".join(self._runtimes) or "none"
                raise NotFound(f'There is no runtime "{name}".', hint=f"There are: {known}.")
            self._open_runtimes[name] = self.registry.load(self._runtimes[name])(self)
        return self._open_runtimes[name]

    def tools(self) -> tuple[Tool, ...]:
        guard = GUARD_TOOL.load()
        return tuple(guard(self, tool) for tools in self._make_parts("tools") for tool in tools)

    def call_judge(self) -> CallJudge:
        return CALL_JUDGE.load()

    def _make_parts(self, kind: str) -> Iterator[Any]:
        """Creates the parts of a kind. A part that fails is recorded as a problem of its plugin."""
        for plugin in self.registry.offering(kind):
            for part in getattr(plugin, kind):
                try:
                    yield (part,) if isinstance(part, Tool) else self.registry.load(part)(self)
                except SojournError as error:
                    self.registry.problems[plugin.name] = error

    def shared(self, kind: type[T]) -> T:
        with self._sharing:
            if kind not in self._shared:
                self._shared[kind] = kind(self)  # type: ignore[call-arg]
            return cast(T, self._shared[kind])

    def context(self) -> tuple[ContextSource, ...]:
        return tuple(self._make_parts("context"))

    @cached_property
    def _sources(self) -> dict[str, Importer]:
        made = [make() for plugin in self.registry.with_sources() for make in plugin.sources]
        return {source.name: source for source in made}

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        """Finds histories in their usual places, or the one at `path`; `source` limits it to one program."""
        if source and source not in self._sources:
            raise NotFound(f'"{source}" is not a known source.', hint=f"Known are: {', '.join(sorted(self._sources))}.")
        asked = [self._sources[source]] if source else list(self._sources.values())
        if path is None:
            found = (one for source in asked for one in source.find(self.settings.user_home, self.settings.places))
            return _resolve_homes(found)
        if not path.exists():
            raise NotFound(f"There is nothing at {path}.", hint="Give a folder or file of another agent's history.")
        claimed = _resolve_homes(one for source in asked for one in self._claim_path(source, path))
        if not claimed:
            known = ", ".join(sorted(one.label for one in asked))
            raise SourceUnreadable(f"{path} is not a history of {known}.", hint="Name the program's own data folder.")
        return claimed

    def _claim_path(self, source: Importer, path: Path) -> Iterator[FoundHistory]:
        """Yields the history of a program at a path, and those of its profiles."""
        if found := source.claims(path):
            yield found
        if isinstance(source, HasProfiles):
            yield from source.profiles(path)

    async def import_history(
        self, found: FoundHistory, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        source = confine_importer(self._sources[found.source], is_redacted=bool(self.settings["redact"]))
        machine = get_machine(self.settings)
        return await import_history(self.store, source, found, dry_run=dry_run, progress=progress, machine=machine)

    def open_hermes_history(self, home: Path) -> History:
        return OPEN_HERMES_HISTORY.load()(home)

    def open_history(self, home: Path) -> History:
        return OPEN_HISTORY.load()(home)

    async def delete(self, session: SessionId) -> Removed:
        """What was learned from it stays; what its tools kept beside the store goes along."""
        return await erase_files(await self.store.delete(session), self._load_erasers("tools"))

    def _load_erasers(self, *plugins: str) -> list[Eraser]:
        """Those of some plugins, or of all."""
        chosen = [one for one in self.plugins() if not plugins or one.name in plugins]
        return [partial(self.registry.load(part), self) for plugin in chosen for part in plugin.erasers]

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        erasers = [*self._load_erasers(), lambda _: erase_logs(self.settings.home)]
        removed = await forget(
            self.store, session, home=self.settings.home, erasers=erasers, purge_backups=purge_backups
        )
        if self.settings["database_url"] and (self.settings.home / "state.db").exists():
            note = (
                "state.db in the home is a store of its own and may hold it too; forget it there without a database URL"
            )
            return replace(removed, remaining=(*removed.remaining, note))
        return removed

    def purge(self, removed: Removed) -> Removed:
        return purge(removed)

    async def migrate(self, to: str, *, progress: Progress | None = None, dry_run: bool = False) -> MoveReport:
        """Moves the store to a PostgreSQL address, or to a SQLite file by path."""
        if dry_run and "://" not in to and not Path(to).exists():
            return MoveReport(rows=(), seconds=0.0)  # opening it would create it
        target = self._open_other(to)
        try:
            return await migrate(self.store, target, progress, dry_run=dry_run)
        finally:
            await target.close()

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """Copies the whole store into one file."""
        if self.settings["database_url"]:
            return await save_backup(self.store, self._open_at, target, progress)
        return await self.store.backup(target, progress)

    async def restore(self, source: Path, *, progress: Progress | None = None) -> None:
        if self.settings["database_url"]:
            await load_backup(self.store, self._open_at, source, progress)
        else:
            await self.store.restore(source, progress)

    def _open_at(self, home: Path) -> Store:
        return self._open_other(str(home / "state.db"))

    def _open_other(self, to: str) -> Store:
        values: dict[str, Any] = dict(self.settings.values)
        if to.startswith(("postgres://", "postgresql://")):
            values["database_url"] = Secret(to)
        elif "://" in to and not to.startswith("sqlite://"):
            raise BadConfig(
                f"{to} is not a store that can be opened.", hint="Use postgresql://… or the path of a home folder."
            )
        else:
            path = Path(to.removeprefix("sqlite://")).absolute()
            values["database_url"] = Secret("")
            values["home"] = path.parent if path.name == "state.db" else path
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._open(replace(self.settings, values=values))

    async def add_samples(self) -> int:
        return await add_samples(self.store)

    async def close(self) -> None:
        if "service" in self.__dict__:
            await self.service.close()
        for runtime in self._open_runtimes.values():
            await runtime.close()
        for one in reversed(self._shared.values()):
            if hasattr(one, "close"):
                await one.close()
        if "store" in self.__dict__:
            await self.store.close()


def _resolve_homes(found: Iterable[FoundHistory]) -> list[FoundHistory]:
    """Lists each history once, under its real path, without symlinks."""
    real = (replace(one, home=one.home.resolve()) for one in found)
    return list({(one.source, one.home): one for one in real}.values())


def build(flags: Mapping[str, Any] | None = None) -> App:
    """Builds the application of a process that was started with these flags."""
    return App(config.follow(flags))
