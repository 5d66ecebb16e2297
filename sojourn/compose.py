"""Wires everything; the only file that knows everyone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sojourn import config
from sojourn.core.errors import BadConfig, NotFound, SojournError, SourceUnreadable, StoreUnavailable
from sojourn.core.filling import fill
from sojourn.core.sessions import OWNER, Principal, SessionId
from sojourn.core.settings import Secret, Settings
from sojourn.plugins import Registry

if TYPE_CHECKING:  # every command passes through here, so what few of them need is reached by its dotted name
    from sojourn.ports.admin import Progress
    from sojourn.ports.context import ContextSource
    from sojourn.ports.importer import FoundHistory, Importer
    from sojourn.ports.kit import ImportReport, MoveReport
    from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
    from sojourn.ports.plugin import Plugin
    from sojourn.ports.runtime import Runtime
    from sojourn.ports.service import Service
    from sojourn.ports.store import Removed
    from sojourn.ports.tool import Tool
    from sojourn.ports.whole import WholeStore
    from sojourn.stores.erase import Eraser

T = TypeVar("T")
_FORGETTING = "sojourn.stores.erase"


class App:
    """The Kit of this process. The store opens on first use."""

    def __init__(self, settings: Settings, registry: Registry | None = None) -> None:
        self.settings = settings
        self.registry = registry or Registry()
        self._made_runtimes: dict[str, Runtime] = {}
        self._shared: dict[type, Any] = {}
        self._sharing = RLock()

    @cached_property
    def store(self) -> WholeStore:
        self.make_home()
        return self._open(self.settings)

    def make_home(self) -> None:
        """The home folder, private to its owner."""
        home = self.settings.home
        try:
            home.mkdir(parents=True, exist_ok=True, mode=0o700)
            if home.stat().st_mode & 0o077 and os.access(home, os.W_OK) and os.name == "posix":
                home.chmod(0o700)
        except OSError as error:
            raise StoreUnavailable(
                f"The home folder {home} cannot be made: {error.strerror}.",
                hint="Choose another one with SOJOURN_HOME.",
            ) from error

    def _open(self, settings: Settings) -> WholeStore:
        name = "postgres" if settings["database_url"] else "sqlite"
        factory = self.registry.plugin(name).store
        assert factory is not None
        return factory(settings)

    def plugins(self) -> Sequence[Plugin]:
        return self.registry.all()

    def plugin_problems(self) -> Mapping[str, SojournError]:
        return self.registry.problems

    def load(self, dotted: str) -> object:
        return self.registry.load(dotted)

    def configured(self, plugin: str) -> Any:
        kind = self.registry.plugin(plugin).settings
        return fill(kind, plugin, self.settings) if kind else None

    @cached_property
    def service(self) -> Service:
        make = self.registry.load("sojourn.service.local:LocalService")  # by name: not every command runs turns
        return cast("Service", make(self))

    @cached_property
    def facts(self) -> FactLibrary:
        return cast("FactLibrary", self.registry.load("sojourn.context.facts:FactBook")(self))

    @cached_property
    def skills(self) -> SkillLibrary:
        return cast("SkillLibrary", self.registry.load("sojourn.context.skills:SkillFolders")(self))

    @cached_property
    def templates(self) -> TemplateLibrary:
        return cast("TemplateLibrary", self.registry.load("sojourn.templates.template_list:TemplateList")(self))

    async def connect(self, *, in_process: bool = False) -> Service:
        if in_process:
            return self.service
        service: Service = await self.registry.load("sojourn.client:connect")(self.settings)  # by name: it loads HTTP
        return service

    @cached_property
    def _runtimes(self) -> dict[str, str]:
        """Which dotted name makes the runtime of that name; the first plugin to claim a name keeps it."""
        found: dict[str, str] = {}
        for plugin in self.registry.offering("runtimes"):
            for name, dotted in plugin.runtimes.items():
                found.setdefault(name, dotted)
        return found

    def runtime_names(self) -> tuple[str, ...]:
        return tuple(self._runtimes)

    def runtime(self, name: str) -> Runtime:
        if name not in self._made_runtimes:
            if name not in self._runtimes:
                known = ", ".join(self._runtimes) or "none"
                raise NotFound(f'There is no runtime "{name}".', hint=f"There are: {known}.")
            self._made_runtimes[name] = self.registry.load(self._runtimes[name])(self)
        return self._made_runtimes[name]

    def tools(self) -> tuple[Tool, ...]:
        guard = self.registry.load("sojourn.tools.calling:guard")  # by name: not every command needs the tools
        return tuple(guard(self, tool) for tools in self._offered("tools") for tool in tools)

    def _offered(self, what: str) -> Iterator[Any]:
        """What plugins make of a kind. One that cannot is remembered as a problem and keeps nobody from working."""
        for plugin in self.registry.offering(what):
            for dotted in getattr(plugin, what):
                try:
                    yield self.registry.load(dotted)(self)
                except SojournError as error:
                    self.registry.problems[plugin.name] = error

    def shared(self, kind: type[T]) -> T:
        with self._sharing:
            if kind not in self._shared:
                self._shared[kind] = kind(self)  # type: ignore[call-arg]
            return cast(T, self._shared[kind])

    def context(self) -> tuple[ContextSource, ...]:
        made: Iterator[ContextSource] = self._offered("context")
        return tuple(made)

    @cached_property
    def _sources(self) -> dict[str, Importer]:
        made = [make() for plugin in self.registry.with_sources() for make in plugin.sources]
        return {source.name: source for source in made}

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        """Histories in their usual places, or the one at `path`; `source` narrows to one program."""
        if source and source not in self._sources:
            raise NotFound(f'"{source}" is not a known source.', hint=f"Known are: {', '.join(sorted(self._sources))}.")
        asked = [self._sources[source]] if source else list(self._sources.values())
        if path is None:
            found = (one for source in asked for one in source.find(self.settings.user_home, self.settings.places))
            return _real(found)
        if not path.exists():
            raise NotFound(f"There is nothing at {path}.", hint="Give a folder or file of another agent's history.")
        claimed = _real(one for source in asked for one in self._claimed(source, path))
        if not claimed:
            known = ", ".join(sorted(one.label for one in asked))
            raise SourceUnreadable(f"{path} is not a history of {known}.", hint="Name the program's own data folder.")
        return claimed

    def _claimed(self, source: Importer, path: Path) -> Iterator[FoundHistory]:
        """What a path is to a program: a history, and those of its profiles."""
        if found := source.claims(path):
            yield found
        if isinstance(source, self.registry.load("sojourn.ports.importer:HasProfiles")):
            yield from source.profiles(path)

    async def rescue(
        self,
        found: FoundHistory,
        *,
        dry_run: bool = False,
        principal: Principal = OWNER,
        progress: Progress | None = None,
    ) -> ImportReport:
        source = self._sources[found.source]
        bring = self.registry.load("sojourn.importers.import_history:import_history")
        report: ImportReport = await bring(
            self.store, source, found, dry_run=dry_run, principal=principal, progress=progress
        )
        return report

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        erasers: list[Eraser] = [
            partial(self.registry.load(name), self) for plugin in self.plugins() for name in plugin.forgets
        ]
        erasers.append(lambda _: self.registry.load(f"{_FORGETTING}:erase_logs")(self.settings.home))
        forget = self.registry.load(f"{_FORGETTING}:forget")
        removed: Removed = await forget(
            self.store, session, home=self.settings.home, erasers=erasers, purge_backups=purge_backups
        )
        if self.settings["database_url"] and (self.settings.home / "state.db").exists():
            note = (
                "state.db in the home is a store of its own and may hold it too; forget it there without a database URL"
            )
            return replace(removed, left=(*removed.left, note))
        return removed

    def purge(self, removed: Removed) -> Removed:
        left: Removed = self.registry.load(f"{_FORGETTING}:purge")(removed)
        return left

    async def migrate(self, to: str, *, progress: Progress | None = None) -> MoveReport:
        """Moves the store to a PostgreSQL address, or to a SQLite file by path."""
        target = self._open_other(to)
        try:
            moved: MoveReport = await self.registry.load("sojourn.stores.migrate:migrate")(self.store, target, progress)
            return moved
        finally:
            await target.close()

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        """A copy of the whole store in one file, wherever the store is."""
        if self.settings["database_url"]:
            save = self.registry.load("sojourn.stores.backup:save_backup")
            made: Path = await save(self.store, self._open_at, target, progress)
            return made
        return await self.store.backup(target, progress)

    async def restore(self, source: Path, *, progress: Progress | None = None) -> None:
        if self.settings["database_url"]:
            load = self.registry.load("sojourn.stores.backup:load_backup")
            await load(self.store, self._open_at, source, progress)
        else:
            await self.store.restore(source, progress)

    def _open_at(self, home: Path) -> WholeStore:
        return self._open_other(str(home / "state.db"))

    def _open_other(self, to: str) -> WholeStore:
        values: dict[str, Any] = dict(self.settings.values)
        if to.startswith(("postgres://", "postgresql://")):
            values["database_url"] = Secret(to)
        elif "://" in to and not to.startswith("sqlite://"):
            raise BadConfig(
                f"{to} is not an address we can move to.", hint="postgresql://… or the path of a home folder."
            )
        else:
            path = Path(to.removeprefix("sqlite://")).absolute()
            values["database_url"] = Secret("")
            values["home"] = path.parent if path.name == "state.db" else path
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return self._open(replace(self.settings, values=values))

    async def add_samples(self) -> int:
        added: int = await self.registry.load("sojourn.importers.samples:add_samples")(self.store)
        return added

    async def close(self) -> None:
        if "service" in self.__dict__:
            await self.service.close()
        for runtime in self._made_runtimes.values():
            await runtime.close()
        for one in reversed(self._shared.values()):
            if hasattr(one, "close"):
                await one.close()
        if "store" in self.__dict__:
            await self.store.close()


def _real(found: Iterable[FoundHistory]) -> list[FoundHistory]:
    """Each history once, under its real path: through a symlink it is still the same one."""
    real = (replace(one, home=one.home.resolve()) for one in found)
    return list({(one.source, one.home): one for one in real}.values())


def build(flags: Mapping[str, Any] | None = None) -> App:
    """The Kit for a process started with these flags."""
    return App(config.load(flags))
