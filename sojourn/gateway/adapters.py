"""Which networks a gateway serves: those that are named, or `local` and every one that is configured."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import cast

from sojourn.core.errors import NotFound, SojournError
from sojourn.ports.app import AppContext, HasSettings, PluginAccess
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.plugin import Part, parts_by_name

ALWAYS = "local"

logger = logging.getLogger(__name__)


def list_platforms(kit: PluginAccess) -> dict[str, tuple[str, Part]]:
    """Every platform there is: the plugin that brings it, and what makes it."""
    found: dict[str, tuple[str, Part]] = {}
    for plugin in kit.plugins():
        for name, part in parts_by_name(plugin.platforms).items():
            found.setdefault(name, (plugin.name, part))
    return found


def list_configured(kit: PluginAccess) -> list[str]:
    """The names to serve. NotFound for one that nobody brings."""
    known = list_platforms(kit)
    named = [one.strip() for one in str(kit.settings["gateway.platforms"]).split(",") if one.strip()]
    for name in named:
        if name not in known:
            raise NotFound(f'There is no platform "{name}".', hint=f"There are: {', '.join(sorted(known))}.")
    return named or [name for name, (plugin, _) in known.items() if name == ALWAYS or _is_configured(kit, plugin)]


def _is_configured(kit: HasSettings, plugin: str) -> bool:
    variables = f"SOJOURN_{plugin}_".upper().replace("-", "_")
    return plugin in kit.settings.plugins or any(name.startswith(variables) for name in kit.settings.variables)


def build_adapters(kit: AppContext) -> tuple[list[PlatformAdapter], dict[str, SojournError]]:
    """The adapters, and why others could not be made. One that is set up wrongly keeps no other from working."""
    made, problems = list[PlatformAdapter](), dict[str, SojournError]()
    known = list_platforms(kit)
    for name in list_configured(kit):
        try:
            make = cast(Callable[[AppContext], PlatformAdapter], kit.load(known[name][1]))
            made.append(make(kit))
        except SojournError as error:
            logger.warning("%s cannot be served: %s %s", name, error, error.hint)
            problems[name] = error
    return made, problems
