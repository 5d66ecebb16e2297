"""Who offers what: built-ins by dotted name, strangers by entry point (`sojourn.plugins`).

Nothing is imported before it is used: what a built-in offers is also said here, so that listing the
commands or opening one store loads only what it needs. A plugin that cannot be loaded is remembered
in `Registry.problems` by its name and does not take the rest down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sojourn.core.errors import BadInput, MissingPackage, NotFound, SojournError

if TYPE_CHECKING:  # `sojourn --help` passes through this file and needs none of the ports
    from sojourn.ports.plugin import Plugin

ENTRY_POINTS = "sojourn.plugins"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A module of ours that ends in `plugin = Plugin(...)`, and what it holds."""

    name: str
    module: str
    offers: frozenset[str] = frozenset()  # which fields of its Plugin are filled: sources, runtimes, tools …
    commands: Mapping[str, str] = field(default_factory=dict)  # name, and one line about it
    extra: str = ""  # what pip must bring first


BUILT_INS = (
    BuiltIn(name="sqlite", module="sojourn.stores.sqlite"),
    BuiltIn(name="postgres", module="sojourn.stores.postgres", extra="postgres"),
    BuiltIn(name="hermes", module="sojourn.importers.hermes", offers=frozenset({"sources"})),
    BuiltIn(name="echo", module="sojourn.runtimes.echo", offers=frozenset({"runtimes"})),
    BuiltIn(name="native", module="sojourn.runtimes.native", offers=frozenset({"runtimes"})),
    BuiltIn(name="offline", module="sojourn.runtimes.offline", offers=frozenset({"runtimes", "tools"})),
    BuiltIn(name="hermes-runtime", module="sojourn.runtimes.hermes", offers=frozenset({"runtimes"})),
    BuiltIn(name="acp", module="sojourn.runtimes.acp", offers=frozenset({"runtimes"})),
    BuiltIn(name="claude-code", module="sojourn.importers.claude_code", offers=frozenset({"sources"})),
    BuiltIn(name="codex", module="sojourn.importers.codex", offers=frozenset({"sources"})),
    BuiltIn(name="opencode", module="sojourn.importers.opencode", offers=frozenset({"sources"})),
    BuiltIn(name="tools", module="sojourn.tools.plugin", offers=frozenset({"tools"})),
    BuiltIn(name="mcp", module="sojourn.tools.mcp.plugin", offers=frozenset({"tools"})),
    BuiltIn(
        name="memory",
        module="sojourn.context.offer:memory",
        offers=frozenset({"context"}),
        commands={"memory": "The facts that are remembered, and why something was recalled."},
    ),
    BuiltIn(
        name="skills",
        module="sojourn.context.offer:skills",
        offers=frozenset({"context"}),
        commands={"skills": "The skills there are, and which ones a request would bring up."},
    ),
    BuiltIn(name="tasks", module="sojourn.context.offer:tasks", offers=frozenset({"context"})),
    BuiltIn(
        name="templates",
        module="sojourn.templates.plugin",
        offers=frozenset({"context"}),
        commands={"templates": "Calls that worked before, ready for the next session."},
    ),
    BuiltIn(
        name="hermes-achievements",  # the address of its routes, which other programs know
        module="sojourn.achievements.plugin",
        commands={"achievements": "The badges your history has earned."},
    ),
    BuiltIn(name="local", module="sojourn.platforms.local", offers=frozenset({"platforms"})),
    BuiltIn(name="api_server", module="sojourn.platforms.api_server", offers=frozenset({"platforms"})),
    BuiltIn(name="telegram", module="sojourn.platforms.telegram", offers=frozenset({"platforms"}), extra="telegram"),
    BuiltIn(name="discord", module="sojourn.platforms.discord", offers=frozenset({"platforms"}), extra="discord"),
    BuiltIn(name="slack", module="sojourn.platforms.slack", offers=frozenset({"platforms"}), extra="slack"),
    BuiltIn(name="matrix", module="sojourn.platforms.matrix", offers=frozenset({"platforms"}), extra="matrix"),
    BuiltIn(name="email", module="sojourn.platforms.email", offers=frozenset({"platforms"}), extra="email"),
    BuiltIn(name="irc", module="sojourn.platforms.irc", offers=frozenset({"platforms"})),
    BuiltIn(name="ntfy", module="sojourn.platforms.ntfy", offers=frozenset({"platforms"})),
    BuiltIn(name="webhook", module="sojourn.platforms.webhook", offers=frozenset({"platforms"})),
    BuiltIn(
        name="mattermost", module="sojourn.platforms.mattermost", offers=frozenset({"platforms"}), extra="mattermost"
    ),
    BuiltIn(
        name="homeassistant",
        module="sojourn.platforms.homeassistant",
        offers=frozenset({"platforms"}),
        extra="homeassistant",
    ),
    BuiltIn(
        name="gateway",
        module="sojourn.gateway.plugin",
        commands={
            "gateway": "Talk to your sessions from chat networks.",
            "handoff": "Hand a session over to a chat network.",
        },
    ),
    BuiltIn(
        name="http",
        module="sojourn.http",
        commands={
            "serve": "Serve your sessions over HTTP.",
            "dashboard": "Serve your sessions, and open them in a browser.",
        },
    ),
    BuiltIn(name="dashboard", module="sojourn.dashboard"),
)


@dataclass(frozen=True, slots=True)
class Stranger:
    """A plugin of somebody else, as its package announces it."""

    name: str
    dotted: str


def announced() -> list[Stranger]:
    """What installed packages announce under `sojourn.plugins`."""
    entry_points = load("importlib.metadata:entry_points")  # by name: it takes as long as all of click
    return [Stranger(one.name, one.value) for one in entry_points(group=ENTRY_POINTS)]


def load(dotted: str) -> Any:
    """What `package.module:attribute` (or `package.module`) stands for."""
    module, _, attribute = dotted.partition(":")
    found: Any = import_module(module)
    for name in attribute.split(".") if attribute else ():
        found = getattr(found, name)
    return found


def _package(dotted: str) -> str:
    return dotted.partition(":")[0].partition(".")[0]


def command_name(dotted: str) -> str:
    """The command a dotted name stands for: `shop.commands:sell_all` is `sell-all`."""
    return dotted.rpartition(":")[2].strip("_").replace("_", "-")


class Registry:
    """The plugins of this process, each loaded once and when it is first asked for."""

    def __init__(
        self, built_ins: Iterable[BuiltIn] = BUILT_INS, strangers: Callable[[], Iterable[Stranger]] = announced
    ) -> None:
        self._built_ins = {one.name: one for one in built_ins}
        self._ask_strangers = strangers
        self._strangers: dict[str, Stranger] | None = None
        self._loaded: dict[str, Plugin] = {}
        self.problems: dict[str, SojournError] = {}

    def load(self, dotted: str) -> Any:
        """What a plugin's dotted name stands for; what is wrong with it is said in our words."""
        try:
            return load(dotted)
        except SojournError:
            raise
        except Exception as error:  # a stranger's module may raise anything while it is imported
            if isinstance(error, ModuleNotFoundError) and _package(error.name or "") != _package(dotted):
                raise MissingPackage(
                    f"{dotted} needs the package {error.name}, which is not installed.", hint=self._how_to_get(dotted)
                ) from error
            raise SojournError(
                f"{dotted} cannot be loaded: {type(error).__name__}: {error}.",
                hint="Update or remove the package it belongs to.",
            ) from error

    def _how_to_get(self, dotted: str) -> str:
        extra = next((one.extra for one in self._built_ins.values() if dotted.startswith(one.module)), "")
        return f'pip install "sojourn[{extra}]"' if extra else "Install it with pip, or remove the plugin."

    def plugin(self, name: str) -> Plugin:
        """The plugin of that name. NotFound, Missing, or what else is wrong with it."""
        if name in self._loaded:
            return self._loaded[name]
        if name in self.problems:
            raise self.problems[name]
        try:
            self._loaded[name] = self._open(name)
        except NotFound:
            raise
        except SojournError as error:
            self.problems[name] = error
            raise
        return self._loaded[name]

    def _open(self, name: str) -> Plugin:
        if name in self._built_ins:
            dotted = self._built_ins[name].module
        elif name in self.strangers():
            dotted = self.strangers()[name].dotted
        else:
            raise NotFound(f'There is no plugin "{name}".', hint="`sojourn plugins` shows what there is.")
        found = self.load(dotted if ":" in dotted else f"{dotted}:plugin")
        kind: type[Plugin] = load("sojourn.ports.plugin:Plugin")
        if not isinstance(found, kind):
            raise BadInput(f"{dotted} is not a Plugin.", hint="The module has to end in `plugin = Plugin(...)`.")
        return found

    def strangers(self) -> dict[str, Stranger]:
        """Plugins of others by name; ours cannot be replaced by one of the same name."""
        if self._strangers is None:
            told = list(self._ask_strangers())
            self._strangers = {one.name: one for one in told if one.name not in self._built_ins}
            for one in told:
                if one.name in self._built_ins:
                    self.problems[f"{one.name} ({one.dotted})"] = BadInput(
                        f'The name "{one.name}" belongs to a built-in plugin.', hint="It needs another name."
                    )
        return self._strangers

    def _working(self, names: Iterable[str]) -> list[Plugin]:
        found: list[Plugin] = []
        for name in names:
            try:
                found.append(self.plugin(name))
            except SojournError:
                continue  # kept in `problems`
        return found

    def all(self) -> list[Plugin]:
        """Every plugin that works; ours first."""
        return self._working([*self._built_ins, *self.strangers()])

    def offering(self, what: str) -> list[Plugin]:
        """The plugins that bring something of a kind: sources, runtimes, platforms, tools, context."""
        ours = [one.name for one in self._built_ins.values() if what in one.offers]
        return [plugin for plugin in self._working([*ours, *self.strangers()]) if getattr(plugin, what)]

    def with_sources(self) -> list[Plugin]:
        """The plugins that can read foreign histories."""
        return self.offering("sources")

    def commands(self) -> dict[str, str]:
        """The commands plugins bring, with one line about each. Imports none of ours."""
        found: dict[str, str] = {}
        for one in self._built_ins.values():
            found.update(one.commands)
        for plugin in self._working(self.strangers()):
            for dotted in plugin.commands:
                found.setdefault(command_name(dotted), plugin.summary)
        return found

    def command(self, name: str) -> Any:
        """The click command of that name, or None when no plugin brings it."""
        ours = [one.name for one in self._built_ins.values() if name in one.commands]
        for plugin in [self.plugin(ours[0])] if ours else self._working(self.strangers()):
            for dotted in plugin.commands:
                if command_name(dotted) == name:
                    return self.load(dotted)
        return None
