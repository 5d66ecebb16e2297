"""The plugin registry: built-in plugins, and those that installed packages announce (entry points `sojourn.plugins`).

A plugin is imported when it is used. A plugin that cannot be loaded is recorded in `Registry.problems` by its name and
does not keep the others from working. Under `TYPE_CHECKING` this file imports what its lazies name, so that mypy
and import-linter check them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sojourn.built_in_plugins import BUILT_INS, BuiltIn
from sojourn.core.errors import BadInput, MissingPackage, NotFound, SojournError
from sojourn.lazy import Lazy, load_dotted
from sojourn.ports.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from importlib.metadata import EntryPoints, entry_points
    from pathlib import Path

    from sojourn.client.launch import connect
    from sojourn.context.facts import FactRecords
    from sojourn.context.skills import SkillFolders
    from sojourn.core.settings import Settings
    from sojourn.histories import open_hermes_history, open_history
    from sojourn.ports.history import History
    from sojourn.ports.plugin import Part
    from sojourn.ports.service import Service
    from sojourn.ports.tool import CallJudge, Tool
    from sojourn.service.local import LocalService
    from sojourn.templates.judge.verdict import judge
    from sojourn.templates.template_list import TemplateList
    from sojourn.tools.guard import guard

    _connect: Callable[[Settings], Awaitable[Service]] = connect
    _guard: Callable[[Any, Tool], Tool] = guard
    _judge: CallJudge = judge
    _open_history: tuple[Callable[[Path], History], ...] = (open_history, open_hermes_history)
    _entry_points: Callable[..., EntryPoints] = entry_points

T = TypeVar("T")
ENTRY_POINT_GROUP = "sojourn.plugins"
# Extras that belong to a part of a plugin, by the package whose absence shows that they are not installed.
EXTRAS_BY_PACKAGE = {"anthropic": "anthropic", "google": "google", "mcp": "mcp", "mcp_types": "mcp"}

# Parts of the application that only some commands need.
LOCAL_SERVICE: Lazy[type[LocalService]] = Lazy("sojourn.service.local:LocalService")
CONNECT: Lazy[Callable[[Settings, str], Awaitable[Service]]] = Lazy("sojourn.client.launch:connect")
GUARD_TOOL: Lazy[Callable[[Any, Tool], Tool]] = Lazy("sojourn.tools.guard:guard")
CALL_JUDGE: Lazy[CallJudge] = Lazy("sojourn.templates.judge.verdict:judge")
OPEN_HISTORY: Lazy[Callable[[Path], History]] = Lazy("sojourn.histories:open_history")
OPEN_HERMES_HISTORY: Lazy[Callable[[Path], History]] = Lazy("sojourn.histories:open_hermes_history")
FACT_LIBRARY: Lazy[type[FactRecords]] = Lazy("sojourn.context.facts:FactRecords")
SKILL_LIBRARY: Lazy[type[SkillFolders]] = Lazy("sojourn.context.skills:SkillFolders")
TEMPLATE_LIBRARY: Lazy[type[TemplateList]] = Lazy("sojourn.templates.template_list:TemplateList")
ENTRY_POINTS: Lazy[Callable[..., EntryPoints]] = Lazy("importlib.metadata:entry_points")  # as large as click


@dataclass(frozen=True, slots=True)
class ThirdParty:
    """A third-party plugin, as its package announces it."""

    name: str
    dotted: str


def list_announced() -> list[ThirdParty]:
    """Lists what installed packages announce under `sojourn.plugins`."""
    return [ThirdParty(one.name, one.value) for one in ENTRY_POINTS.load()(group=ENTRY_POINT_GROUP)]


def _module(dotted: str) -> str:
    return dotted.partition(":")[0]


def _package(dotted: str) -> str:
    return _module(dotted).partition(".")[0]


def _missing_package(error: BaseException | None) -> str:
    """The package that an import did not find; libraries with extras of their own raise an ImportError for it."""
    if isinstance(error, ModuleNotFoundError):
        return _package(error.name or "")
    return _missing_package(error.__cause__) if isinstance(error, ImportError) else ""


def command_name(part: Part) -> str:
    """The name of a command: its own, or what its dotted name says (`shop.commands:sell_all` is `sell-all`)."""
    if isinstance(part, str):
        return part.rpartition(":")[2].strip("_").replace("_", "-")
    return str(getattr(part, "name", ""))


class Registry:
    """The plugins of this process, each loaded once and when it is first asked for."""

    def __init__(
        self, built_ins: Iterable[BuiltIn] = BUILT_INS, third_party: Callable[[], Iterable[ThirdParty]] = list_announced
    ) -> None:
        self._built_ins = {one.name: one for one in built_ins}
        self._list_third_party = third_party
        self._third_party: dict[str, ThirdParty] | None = None
        self._loaded: dict[str, Plugin] = {}
        self.problems: dict[str, SojournError] = {}

    @overload
    def load(self, part: Lazy[T]) -> T: ...
    @overload
    def load(self, part: Part) -> Any: ...
    def load(self, part: Any) -> Any:
        """Imports a part that is given by its dotted name; any other object is returned as it is.

        MissingPackage if the part needs a package that is not installed.
        """
        if not isinstance(part, (str, Lazy)):
            return part
        dotted = part if isinstance(part, str) else part.dotted
        try:
            return load_dotted(dotted)
        except SojournError:
            raise
        except Exception as error:  # a third-party module may raise anything while it is imported
            missing = _missing_package(error)
            if missing and missing != _package(dotted):
                extra = self._extra_of(dotted) or EXTRAS_BY_PACKAGE.get(missing, "")
                raise MissingPackage(
                    f"{extra or dotted} needs the package {missing}, which is not installed.",
                    hint=f"`sojourn plugins install {extra}`"
                    if extra
                    else "Install it with pip, or remove the plugin.",
                ) from error
            raise SojournError(
                f"{dotted} cannot be loaded: {type(error).__name__}: {error}.",
                hint="Update or remove the package it belongs to.",
            ) from error

    def _extra_of(self, dotted: str) -> str:
        return next(
            (one.extra for one in self._built_ins.values() if dotted.startswith(_module(one.plugin.dotted))), ""
        )

    def plugin(self, name: str) -> Plugin:
        """The plugin of that name. NotFound, MissingPackage, or the error that its import raised."""
        if name in self._loaded:
            return self._loaded[name]
        if name in self.problems:
            raise self.problems[name]
        try:
            self._loaded[name] = self._load_plugin(name)
        except NotFound:
            raise
        except SojournError as error:
            self.problems[name] = error
            raise
        return self._loaded[name]

    def _load_plugin(self, name: str) -> Plugin:
        if name in self._built_ins:
            return self.load(self._built_ins[name].plugin)
        if name in self.third_party():
            dotted = self.third_party()[name].dotted
        else:
            raise NotFound(f'There is no plugin "{name}".', hint="`sojourn plugins` lists them.")
        found = self.load(dotted if ":" in dotted else f"{dotted}:plugin")
        if not isinstance(found, Plugin):
            raise BadInput(f"{dotted} is not a Plugin.", hint="The module has to end in `plugin = Plugin(...)`.")
        return found

    def third_party(self) -> dict[str, ThirdParty]:
        """Third-party plugins by name. One with the name of a built-in plugin is a problem."""
        if self._third_party is None:
            announced = list(self._list_third_party())
            self._third_party = {one.name: one for one in announced if one.name not in self._built_ins}
            for one in announced:
                if one.name in self._built_ins:
                    self.problems[f"{one.name} ({one.dotted})"] = BadInput(
                        f'The name "{one.name}" belongs to a built-in plugin.', hint="It needs another name."
                    )
        return self._third_party

    def _load_working(self, names: Iterable[str]) -> list[Plugin]:
        found: list[Plugin] = []
        for name in names:
            try:
                found.append(self.plugin(name))
            except SojournError:
                continue  # recorded in `problems`
        return found

    def all(self) -> list[Plugin]:
        """Every plugin that could be loaded, built-in ones first."""
        return self._load_working([*self._built_ins, *self.third_party()])

    def offering(self, what: str) -> list[Plugin]:
        """The plugins that offer parts of a kind: sources, runtimes, platforms, tools, context."""
        ours = [one.name for one in self._built_ins.values() if what in one.offers]
        return [plugin for plugin in self._load_working([*ours, *self.third_party()]) if getattr(plugin, what)]

    def with_sources(self) -> list[Plugin]:
        """The plugins that can read foreign histories."""
        return self.offering("sources")

    def commands(self) -> dict[str, str]:
        """The commands of plugins, with one line about each. Imports no built-in plugin."""
        found: dict[str, str] = {}
        for one in self._built_ins.values():
            found.update(one.commands)
        for plugin in self._load_working(self.third_party()):
            for part in plugin.commands:
                found.setdefault(command_name(part), plugin.summary)
        return found

    def command(self, name: str) -> Any:
        """The click command of that name; None if no plugin offers it."""
        ours = [one.name for one in self._built_ins.values() if name in one.commands]
        for plugin in [self.plugin(ours[0])] if ours else self._load_working(self.third_party()):
            for part in plugin.commands:
                if command_name(part) == name:
                    return self.load(part)
        return None
