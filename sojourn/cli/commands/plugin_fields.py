"""Plugin fields: the settings of plugins, `plugins.NAME.FIELD`, as `sojourn config` reads and changes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from sojourn.config_plugins import parse_field
from sojourn.core.errors import BadInput
from sojourn.core.settings import Secret, Settings
from sojourn.ports.plugin import Plugin

PREFIX = "plugins."
_KINDS = (str, Secret, bool, int, float, Path, tuple[str, ...])  # what one word on a command line can say


@dataclass(frozen=True, slots=True)
class PluginField:
    """One setting of a plugin, its type, its default and the variable that beats the file."""

    name: str
    kind: Any
    default: Any
    variable: str

    @property
    def is_secret(self) -> bool:
        return self.kind is Secret

    def parse(self, value: str, settings: Settings) -> Any:
        """The value as config.toml keeps it. BadConfig if it is not of the field's type."""
        parsed = parse_field(value, self.kind, self.name, settings)
        if self.kind == tuple[str, ...]:
            return list(parsed)
        return parsed if self.kind in (bool, int, float) else value

    def describe(self, settings: Settings) -> dict[str, Any]:
        """The row that `sojourn config get` shows: secrets are dots."""
        _, plugin, field = self.name.split(".")
        table = settings.plugins.get(plugin, {})
        value: Any
        if self.variable in settings.variables:
            value, origin = settings.variables[self.variable], "environment"
        else:
            value, origin = (table[field], "file") if field in table else (self.default, "default")
        if self.kind == tuple[str, ...]:
            value = value if isinstance(value, str) else ",".join(value)
        shown = ("•••" if value else "") if self.is_secret else value
        plain = str(shown) if isinstance(shown, Path) else shown
        return {"name": self.name, "value": plain, "origin": origin, "variable": self.variable, "meaning": ""}


def find_plugin_field(plugins: Sequence[Plugin], name: str) -> PluginField:
    """The setting `plugins.NAME.FIELD`. BadInput if there is none, with what may have been meant."""
    _, plugin, field = [*name.split("."), "", ""][:3]
    by_name = {one.name: one.settings for one in plugins if one.settings is not None}
    known = [f"{PREFIX}{one}.{field.name}" for one, kind in by_name.items() for field in fields(kind)]
    if name not in known:
        near = get_close_matches(name, known, 3)
        hint = f"Did you mean {' or '.join(near)}?" if near else f"Plugins with settings: {', '.join(sorted(by_name))}."
        raise BadInput(f"There is no setting `{name}` in config.toml.", hint=hint)
    kind = by_name[plugin]
    if get_type_hints(kind)[field] not in _KINDS:
        raise BadInput(
            f"{name} is a table, which one word cannot say.",
            hint=f"Write it under [plugins.{plugin}] in config.toml: `sojourn config path` says where that is.",
        )
    [found] = [one for one in fields(kind) if one.name == field]
    variable = f"SOJOURN_{plugin}_{field}".upper().replace("-", "_")
    return PluginField(name, get_type_hints(kind)[field], _find_default(found), variable)


def _find_default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else ""
