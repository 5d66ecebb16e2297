"""The plugin registry: built-in plugins, and those that installed packages announce (entry points `sojourn.plugins`).

A plugin is imported when it is used. A plugin that cannot be loaded is recorded in `Registry.problems` by its name and
does not keep the others from working. Under `TYPE_CHECKING` this file imports what its lazies name, so that mypy
and import-linter check them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from sojourn.core.errors import BadInput, MissingPackage, NotFound, SojournError
from sojourn.lazy import Lazy, load_dotted
from sojourn.ports.plugin import Plugin

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from importlib.metadata import EntryPoints, entry_points
    from pathlib import Path

    from sojourn.achievements.plugin import plugin as hermes_achievements
    from sojourn.client.launch import connect
    from sojourn.context.facts import FactRecords
    from sojourn.context.plugin import memory, skills, tasks
    from sojourn.context.skills import SkillFolders
    from sojourn.core.settings import Settings
    from sojourn.dashboard import plugin as dashboard
    from sojourn.dashboard.plugin_state import InstalledPages
    from sojourn.gateway.plugin import plugin as gateway
    from sojourn.histories import open_hermes_history, open_history
    from sojourn.http import plugin as http_
    from sojourn.importers.claude_code import plugin as claude_code
    from sojourn.importers.codex import plugin as codex
    from sojourn.importers.hermes import plugin as hermes
    from sojourn.importers.opencode import plugin as opencode
    from sojourn.platforms.api_server import plugin as api_server
    from sojourn.platforms.dingtalk import plugin as dingtalk
    from sojourn.platforms.discord import plugin as discord
    from sojourn.platforms.email import plugin as email_
    from sojourn.platforms.feishu import plugin as feishu
    from sojourn.platforms.homeassistant import plugin as homeassistant
    from sojourn.platforms.irc import plugin as irc
    from sojourn.platforms.local import plugin as local
    from sojourn.platforms.matrix import plugin as matrix
    from sojourn.platforms.mattermost import plugin as mattermost
    from sojourn.platforms.ntfy import plugin as ntfy
    from sojourn.platforms.qqbot import plugin as qqbot
    from sojourn.platforms.signal import plugin as signal_
    from sojourn.platforms.slack import plugin as slack
    from sojourn.platforms.telegram import plugin as telegram
    from sojourn.platforms.webhook import plugin as webhook
    from sojourn.platforms.wecom import plugin as wecom
    from sojourn.platforms.xmpp import plugin as xmpp
    from sojourn.ports.history import History
    from sojourn.ports.plugin import Part
    from sojourn.ports.service import Service
    from sojourn.ports.tool import CallJudge, Tool
    from sojourn.runtimes.acp import plugin as acp
    from sojourn.runtimes.echo import plugin as echo
    from sojourn.runtimes.hermes import plugin as hermes_runtime
    from sojourn.runtimes.native import plugin as native
    from sojourn.runtimes.offline import plugin as offline
    from sojourn.service.local import LocalService
    from sojourn.stores.postgres import plugin as postgres
    from sojourn.stores.sqlite import plugin as sqlite
    from sojourn.templates.judge.verdict import judge
    from sojourn.templates.plugin import plugin as templates
    from sojourn.templates.template_list import TemplateList
    from sojourn.tools.guard import guard
    from sojourn.tools.mcp.plugin import plugin as mcp
    from sojourn.tools.plugin import plugin as tools

    _PLUGINS: tuple[Plugin, ...] = (
        sqlite,
        postgres,
        hermes,
        echo,
        native,
        offline,
        hermes_runtime,
        acp,
        claude_code,
        codex,
        opencode,
        tools,
        mcp,
        memory,
        skills,
        tasks,
        templates,
        hermes_achievements,
        local,
        api_server,
        telegram,
        discord,
        slack,
        matrix,
        email_,
        irc,
        ntfy,
        webhook,
        mattermost,
        homeassistant,
        xmpp,
        signal_,
        dingtalk,
        feishu,
        wecom,
        qqbot,
        gateway,
        http_,
        dashboard,
    )
    _connect: Callable[[Settings], Awaitable[Service]] = connect
    _guard: Callable[[Any, Tool], Tool] = guard
    _judge: CallJudge = judge
    _open_history: tuple[Callable[[Path], History], ...] = (open_history, open_hermes_history)
    _entry_points: Callable[..., EntryPoints] = entry_points

T = TypeVar("T")
ENTRY_POINT_GROUP = "sojourn.plugins"

# Parts of the application that only some commands need.
LOCAL_SERVICE: Lazy[type[LocalService]] = Lazy("sojourn.service.local:LocalService")
CONNECT: Lazy[Callable[[Settings], Awaitable[Service]]] = Lazy("sojourn.client.launch:connect")
GUARD_TOOL: Lazy[Callable[[Any, Tool], Tool]] = Lazy("sojourn.tools.guard:guard")
CALL_JUDGE: Lazy[CallJudge] = Lazy("sojourn.templates.judge.verdict:judge")
OPEN_HISTORY: Lazy[Callable[[Path], History]] = Lazy("sojourn.histories:open_history")
OPEN_HERMES_HISTORY: Lazy[Callable[[Path], History]] = Lazy("sojourn.histories:open_hermes_history")
FACT_LIBRARY: Lazy[type[FactRecords]] = Lazy("sojourn.context.facts:FactRecords")
SKILL_LIBRARY: Lazy[type[SkillFolders]] = Lazy("sojourn.context.skills:SkillFolders")
TEMPLATE_LIBRARY: Lazy[type[TemplateList]] = Lazy("sojourn.templates.template_list:TemplateList")
INSTALLED_PAGES: Lazy[type[InstalledPages]] = Lazy("sojourn.dashboard.plugin_state:InstalledPages")
ENTRY_POINTS: Lazy[Callable[..., EntryPoints]] = Lazy("importlib.metadata:entry_points")  # as large as click


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A plugin of ours.

    What it offers is repeated here only as far as start-up needs it: `sojourn --help` lists commands without importing
    a plugin, and a turn imports the plugins with runtimes, tools and context, but no platform.
    """

    name: str
    plugin: Lazy[Plugin]
    offers: tuple[str, ...] = ()  # which of sources, runtimes, platforms, tools and context the plugin has
    commands: Mapping[str, str] = field(default_factory=dict)  # name, and one line about it
    extra: str = ""  # the extra of our package that brings what the plugin needs


BUILT_INS = (
    BuiltIn(name="sqlite", plugin=Lazy("sojourn.stores.sqlite:plugin")),
    BuiltIn(name="postgres", plugin=Lazy("sojourn.stores.postgres:plugin"), extra="postgres"),
    BuiltIn(name="hermes", plugin=Lazy("sojourn.importers.hermes:plugin"), offers=("sources",)),
    BuiltIn(name="echo", plugin=Lazy("sojourn.runtimes.echo:plugin"), offers=("runtimes",)),
    BuiltIn(name="native", plugin=Lazy("sojourn.runtimes.native:plugin"), offers=("runtimes",)),
    BuiltIn(name="offline", plugin=Lazy("sojourn.runtimes.offline:plugin"), offers=("runtimes",)),
    BuiltIn(name="hermes-runtime", plugin=Lazy("sojourn.runtimes.hermes:plugin"), offers=("runtimes",)),
    BuiltIn(name="acp", plugin=Lazy("sojourn.runtimes.acp:plugin"), offers=("runtimes",)),
    BuiltIn(name="claude-code", plugin=Lazy("sojourn.importers.claude_code:plugin"), offers=("sources",)),
    BuiltIn(name="codex", plugin=Lazy("sojourn.importers.codex:plugin"), offers=("sources",)),
    BuiltIn(name="opencode", plugin=Lazy("sojourn.importers.opencode:plugin"), offers=("sources",)),
    BuiltIn(name="tools", plugin=Lazy("sojourn.tools.plugin:plugin"), offers=("tools",)),
    BuiltIn(name="mcp", plugin=Lazy("sojourn.tools.mcp.plugin:plugin"), offers=("tools",)),
    BuiltIn(
        name="memory",
        plugin=Lazy("sojourn.context.plugin:memory"),
        offers=("context",),
        commands={"memory": "The facts that are remembered, and why something was recalled."},
    ),
    BuiltIn(
        name="skills",
        plugin=Lazy("sojourn.context.plugin:skills"),
        offers=("context",),
        commands={"skills": "The skills there are, and which ones a request would bring up."},
    ),
    BuiltIn(name="tasks", plugin=Lazy("sojourn.context.plugin:tasks"), offers=("context",)),
    BuiltIn(
        name="templates",
        plugin=Lazy("sojourn.templates.plugin:plugin"),
        offers=("context",),
        commands={"templates": "Calls that worked before, ready for the next session."},
    ),
    BuiltIn(
        name="hermes-achievements",  # the address of its routes, which other programs know
        plugin=Lazy("sojourn.achievements.plugin:plugin"),
        commands={"achievements": "The badges your history has earned."},
    ),
    BuiltIn(name="local", plugin=Lazy("sojourn.platforms.local:plugin"), offers=("platforms",)),
    BuiltIn(name="api_server", plugin=Lazy("sojourn.platforms.api_server:plugin"), offers=("platforms",)),
    BuiltIn(name="telegram", plugin=Lazy("sojourn.platforms.telegram:plugin"), offers=("platforms",), extra="telegram"),
    BuiltIn(name="discord", plugin=Lazy("sojourn.platforms.discord:plugin"), offers=("platforms",), extra="discord"),
    BuiltIn(name="slack", plugin=Lazy("sojourn.platforms.slack:plugin"), offers=("platforms",), extra="slack"),
    BuiltIn(name="matrix", plugin=Lazy("sojourn.platforms.matrix:plugin"), offers=("platforms",), extra="matrix"),
    BuiltIn(name="email", plugin=Lazy("sojourn.platforms.email:plugin"), offers=("platforms",), extra="email"),
    BuiltIn(name="irc", plugin=Lazy("sojourn.platforms.irc:plugin"), offers=("platforms",)),
    BuiltIn(name="ntfy", plugin=Lazy("sojourn.platforms.ntfy:plugin"), offers=("platforms",)),
    BuiltIn(name="webhook", plugin=Lazy("sojourn.platforms.webhook:plugin"), offers=("platforms",)),
    BuiltIn(
        name="mattermost", plugin=Lazy("sojourn.platforms.mattermost:plugin"), offers=("platforms",), extra="mattermost"
    ),
    BuiltIn(
        name="homeassistant",
        plugin=Lazy("sojourn.platforms.homeassistant:plugin"),
        offers=("platforms",),
        extra="homeassistant",
    ),
    BuiltIn(name="xmpp", plugin=Lazy("sojourn.platforms.xmpp:plugin"), offers=("platforms",), extra="xmpp"),
    BuiltIn(name="signal", plugin=Lazy("sojourn.platforms.signal:plugin"), offers=("platforms",), extra="signal"),
    BuiltIn(name="dingtalk", plugin=Lazy("sojourn.platforms.dingtalk:plugin"), offers=("platforms",), extra="dingtalk"),
    BuiltIn(name="feishu", plugin=Lazy("sojourn.platforms.feishu:plugin"), offers=("platforms",), extra="feishu"),
    BuiltIn(name="wecom", plugin=Lazy("sojourn.platforms.wecom:plugin"), offers=("platforms",), extra="wecom"),
    BuiltIn(name="qqbot", plugin=Lazy("sojourn.platforms.qqbot:plugin"), offers=("platforms",), extra="qqbot"),
    BuiltIn(
        name="gateway",
        plugin=Lazy("sojourn.gateway.plugin:plugin"),
        commands={
            "gateway": "Talk to your sessions from chat networks.",
            "handoff": "Hand a session over to a chat network.",
        },
    ),
    BuiltIn(
        name="http",
        plugin=Lazy("sojourn.http:plugin"),
        commands={
            "serve": "Serve your sessions over HTTP.",
            "dashboard": "Serve your sessions, and open them in a browser.",
            "token": "The access token: show it, or replace it.",
            "browsers": "The browsers that are signed in.",
        },
    ),
    BuiltIn(name="dashboard", plugin=Lazy("sojourn.dashboard:plugin")),
)


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
            if isinstance(error, ModuleNotFoundError) and _package(error.name or "") != _package(dotted):
                raise MissingPackage(
                    f"{dotted} needs the package {error.name}, which is not installed.", hint=self._install_hint(dotted)
                ) from error
            raise SojournError(
                f"{dotted} cannot be loaded: {type(error).__name__}: {error}.",
                hint="Update or remove the package it belongs to.",
            ) from error

    def _install_hint(self, dotted: str) -> str:
        extra = next(
            (one.extra for one in self._built_ins.values() if dotted.startswith(_module(one.plugin.dotted))), ""
        )
        return f'pip install "sojourn[{extra}]"' if extra else "Install it with pip, or remove the plugin."

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
