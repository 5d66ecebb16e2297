"""Fills a plugin's settings dataclass from `[plugins.<name>]` and `SOJOURN_<NAME>_<FIELD>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_type_hints

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret, Settings

_YES, _NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def load_plugin_settings(kind: type, plugin: str, settings: Settings) -> Any:
    """The settings of one plugin in their types. A variable beats the file; a mistake says where and what."""
    table: Mapping[str, Any] = settings.plugins.get(plugin, {})
    known, hints = {one.name: one for one in fields(kind)}, get_type_hints(kind)
    for name in table:
        if name not in known:
            raise BadConfig(f"[plugins.{plugin}] has no setting `{name}`.", hint=f"There are: {', '.join(known)}.")
    values: dict[str, Any] = {}
    for name, one in known.items():
        variable = f"SOJOURN_{plugin}_{name}".upper().replace("-", "_")
        if variable in settings.variables:
            values[name] = parse_field(settings.variables[variable], hints[name], variable, settings)
        elif name in table:
            values[name] = parse_field(table[name], hints[name], f"[plugins.{plugin}] {name}", settings)
        elif _is_required(one):
            raise BadConfig(
                f"{plugin} needs `{name}`, which is not set.",
                hint=f"Set {variable}, or `{name}` under [plugins.{plugin}] in config.toml.",
            )
    return kind(**values)


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def parse_field(raw: Any, kind: Any, where: str, settings: Settings) -> Any:
    """The value of one field in its type. BadConfig says where a mistake is."""
    try:
        made = _convert(raw, kind, settings)
    except (TypeError, ValueError):
        made = None
    if made is None:
        word = {int: "a whole number", float: "a number", bool: "yes or no"}.get(kind, "of the right form")
        shown = "•••" if kind is Secret else repr(raw)
        raise BadConfig(f"{where} is {shown}, which is not {word}.", hint="Correct it, or leave it out.")
    return made


def _convert(raw: Any, kind: Any, settings: Settings) -> Any:
    if kind is bool:
        word = str(raw).strip().lower()
        return word in _YES if word in _YES or word in _NO else None
    if kind in (int, float):
        return None if isinstance(raw, bool) else kind(raw)
    if kind is Path:
        return settings.user_home / raw[2:] if str(raw).startswith("~/") else Path(str(raw)).absolute()
    if kind in (str, Secret):
        return kind(raw) if isinstance(raw, (str, int)) and not isinstance(raw, bool) else None
    if kind == tuple[str, ...]:
        return tuple(word for one in (raw.split(",") if isinstance(raw, str) else raw) if (word := str(one).strip()))
    return raw  # tables and whatever else the plugin reads itself
