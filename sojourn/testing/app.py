"""FakeApp: an AppContext that has exactly what a test passes to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import BadInput, NotFound, SojournError
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy, load_dotted
from sojourn.ports.app import AppContext, ImportReport, MoveReport
from sojourn.ports.context import CONTEXT_STAGES, ContextSource
from sojourn.ports.history import History
from sojourn.ports.importer import FoundHistory
from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
from sojourn.ports.plugin import Plugin
from sojourn.ports.runtime import Runtime
from sojourn.ports.service import Service
from sojourn.ports.store import Removed, Store
from sojourn.ports.store_admin import Progress
from sojourn.ports.tool import CallJudge, Tool
from sojourn.settings.table import SETTINGS

T = TypeVar("T")


def make_settings(home: Path, **values: Any) -> Settings:
    """Returns the default settings with a home and some values: `make_settings(tmp_path, agent_titles=False)`."""
    all_values = {one.name: one.default for one in SETTINGS} | {"home": home}
    named = {one.name.replace(".", "_"): one.name for one in SETTINGS}
    all_values |= {named[name]: value for name, value in values.items()}
    origins = dict.fromkeys(all_values, "default")
    return Settings(values=all_values, origins=origins, user_home=home.parent, places={}, plugins={})


def _build(make: Callable[[AppContext], T] | None, app: AppContext, name: str) -> T:
    if make is None:
        raise NotFound(f"This app has no {name}.", hint=f"Pass make_{name}=….")
    return make(app)


@dataclass(kw_only=True)
class FakeApp:
    """An application for tests of plugins. Everything that is not passed is missing; it imports and moves nothing."""

    store: Store
    settings: Settings
    runtimes: Sequence[Runtime] = ()
    tool_list: Sequence[Tool] = ()
    context_sources: Sequence[ContextSource] = ()
    plugin_list: Sequence[Plugin] = ()
    configurations: Mapping[str, Any] = field(default_factory=dict)  # of plugins, by their names
    make_service: Callable[[AppContext], Service] | None = None
    make_facts: Callable[[AppContext], FactLibrary] | None = None
    make_skills: Callable[[AppContext], SkillLibrary] | None = None
    make_templates: Callable[[AppContext], TemplateLibrary] | None = None
    _service: Service | None = None
    _shared: dict[type, Any] = field(default_factory=dict)

    def plugins(self) -> Sequence[Plugin]:
        return self.plugin_list

    def plugin_problems(self) -> Mapping[str, SojournError]:
        return {}

    def load(self, part: Any) -> Any:
        return load_dotted(part if isinstance(part, str) else part.dotted) if isinstance(part, (str, Lazy)) else part

    def configured(self, plugin: str) -> Any:
        return self.configurations.get(plugin)

    @property
    def service(self) -> Service:
        if self._service is None:
            assert self.make_service is not None, "pass make_service=LocalService"
            self._service = self.make_service(self)
        return self._service

    @property
    def facts(self) -> FactLibrary:
        return _build(self.make_facts, self, "facts")

    @property
    def skills(self) -> SkillLibrary:
        return _build(self.make_skills, self, "skills")

    @property
    def templates(self) -> TemplateLibrary:
        return _build(self.make_templates, self, "templates")

    async def connect(self, *, in_process: bool = False, server: str = "") -> Service:
        return self.service

    def runtime_names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.runtimes)

    def runtime(self, name: str) -> Runtime:
        for one in self.runtimes:
            if one.name == name:
                return one
        raise NotFound(f'There is no runtime "{name}".', hint="It has only what the test passed to it.")

    def tools(self) -> tuple[Tool, ...]:
        return tuple(self.tool_list)

    def context(self) -> tuple[ContextSource, ...]:
        return tuple(sorted(self.context_sources, key=lambda one: CONTEXT_STAGES.index(one.stage)))

    def shared(self, kind: type[T]) -> T:
        if kind not in self._shared:
            self._shared[kind] = kind(self)  # type: ignore[call-arg]
        made: T = self._shared[kind]
        return made

    def find_histories(self, path: Path | None = None, source: str = "") -> list[FoundHistory]:
        return []

    async def import_history(
        self, found: FoundHistory, *, dry_run: bool = False, progress: Progress | None = None
    ) -> ImportReport:
        raise BadInput("FakeApp imports no histories.", hint="Use `sojourn.app.build` for that.")

    def open_hermes_history(self, home: Path) -> History:
        raise BadInput("FakeApp opens no histories.", hint="Use `sojourn.app.build` for that.")

    def open_history(self, home: Path) -> History:
        raise BadInput("FakeApp opens no histories.", hint="Use `sojourn.app.build` for that.")

    def call_judge(self) -> CallJudge:
        raise BadInput("FakeApp judges no calls.", hint="Use `sojourn.app.build` for that.")

    async def delete(self, session: SessionId) -> Removed:
        return await self.store.delete(session)

    async def forget(self, session: SessionId, *, purge_backups: bool = False) -> Removed:
        return await self.store.forget(session)

    def purge(self, removed: Removed) -> Removed:
        return removed

    async def backup(self, target: Path, *, progress: Progress | None = None) -> Path:
        return await self.store.backup(target, progress)

    async def restore(self, source: Path, *, progress: Progress | None = None) -> None:
        await self.store.restore(source, progress)

    async def migrate(self, to: str, *, progress: Progress | None = None, dry_run: bool = False) -> MoveReport:
        raise BadInput("FakeApp moves no stores.", hint="Use `sojourn.app.build` for that.")

    async def add_samples(self) -> int:
        return 0

    async def close(self) -> None:
        if self._service is not None:
            await self._service.close()
        for runtime in self.runtimes:
            await runtime.close()
        await self.store.close()
