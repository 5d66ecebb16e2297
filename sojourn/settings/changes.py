"""Changes of settings for every surface: described, checked, written into config.toml. A running process follows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from sojourn.core.errors import BadConfig, BadInput, NotFound
from sojourn.core.settings import Secret, Settings
from sojourn.ports.app import AgentParts, HasSettings, PluginAccess
from sojourn.ports.plugin import parts_by_name
from sojourn.settings.config_file import change_file, remove_value, set_value
from sojourn.settings.formats import parse_policy, split_list
from sojourn.settings.table import NEED_RESTART, SETTINGS, SETTINGS_BY_NAME, Setting
from sojourn.settings.values import parse_setting

_ADDRESSES = {  # a key, and the two settings that say where it goes: an address, or else a name
    "model.api_key": ("model.base_url", "model.provider"),
    "memory.embedder_key": ("memory.embedder_url", "memory.embedder_url"),
    "tools.search_key": ("tools.search_url", "tools.search_engine"),
}


class SettingsOwner(PluginAccess, AgentParts, Protocol):
    """What a change is checked against: the names of tools, networks and runtimes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingInfo:
    """A setting as it is in force, and what it may be. The value of a secret is never told."""

    name: str
    kind: str
    value: str | int | float | bool | None  # dots for a secret that is set
    default: str | int | float | bool | None
    origin: str  # default, file, environment or flag
    variable: str
    meaning: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    is_live: bool = True  # a change is in force at once; else after a restart


def describe_settings(settings: Settings) -> list[SettingInfo]:
    return [describe_setting(settings, one) for one in SETTINGS]


def describe_setting(settings: Settings, one: Setting) -> SettingInfo:
    low, high = one.limits or (None, None)
    return SettingInfo(
        name=one.name,
        kind=one.kind,
        value=to_plain_value(settings[one.name]),
        default=to_plain_value(one.default),
        origin=settings.origins[one.name],
        variable=one.variable,
        meaning=one.meaning,
        minimum=low,
        maximum=high,
        choices=one.choices,
        is_secret=one.kind == "secret",
        is_live=one.name not in NEED_RESTART,
    )


def to_plain_value(value: Any) -> Any:
    """A setting as a JSON value; a secret stays masked, an empty one is an empty string."""
    if isinstance(value, Secret):
        return str(value) if value else ""
    return str(value) if isinstance(value, Path) else value


def find_setting(name: str) -> Setting:
    """NotFound for a name that config.toml cannot have."""
    if name not in SETTINGS_BY_NAME or name == "home":
        known = ", ".join(sorted(set(SETTINGS_BY_NAME) - {"home"}))
        raise NotFound(f"There is no setting `{name}` in config.toml.", hint=f"Settings are: {known}.")
    return SETTINGS_BY_NAME[name]


def change_setting(app: SettingsOwner, name: str, value: str | int | float | bool) -> SettingInfo:
    """Checks a value and writes it into config.toml. BadInput, with nothing changed."""
    setting = find_setting(name)
    parsed = _parse(setting, value, app.settings.user_home)
    check_names(app, name, str(value))
    check_key(app.settings, name, str(value))
    change_file(app.settings.home, lambda document: set_value(document, name, _to_toml(parsed, value)))
    return describe_setting(app.settings, setting)


def reset_setting(app: HasSettings, name: str) -> SettingInfo:
    """Removes a setting from config.toml: the default holds again, or what the environment says."""
    setting = find_setting(name)
    check_key(app.settings, name, str(setting.default))
    change_file(app.settings.home, lambda document: remove_value(document, name))
    return describe_setting(app.settings, setting)


def _parse(setting: Setting, value: Any, user_home: Path) -> Any:
    shown = Secret(value) if setting.kind == "secret" and isinstance(value, str) else value
    try:
        return parse_setting(setting, shown, setting.name, user_home)
    except BadConfig as error:
        raise BadInput(str(error), hint=error.hint) from error


def _to_toml(parsed: Any, value: Any) -> Any:
    """Numbers and flags in their type; texts, paths and secrets as they were given."""
    if isinstance(parsed, Secret):
        return parsed.reveal()
    return parsed if isinstance(parsed, (bool, int, float)) else str(value)


def check_names(app: SettingsOwner, key: str, value: str) -> None:
    """BadInput if a list of tools or networks, or the runtime, has a name that nothing bears: it would do nothing."""
    if key in ("tools.approval", "tools.guest_tools"):
        names = parse_policy(value) if key == "tools.approval" else split_list(value)
        known = [tool.name for tool in app.tools()] if any(names) else []
        unknown = [one for one in names if one and one not in known and not one.startswith("mcp_")]
    elif key == "gateway.platforms":
        known = sorted({name for plugin in app.plugins() for name in parts_by_name(plugin.platforms)})
        unknown = [one for one in split_list(value) if one not in known]
    elif key == "agent.runtime":
        known = list(app.runtime_names())
        unknown = [one for one in [value.strip()] if one and one not in known]
    else:
        return
    if unknown:
        raise BadInput(
            f"{key}: there is no {unknown[0]!r}, so nothing was changed.", hint=f"There are: {', '.join(known)}."
        )


def check_key(settings: Settings, name: str, value: str) -> None:
    """BadInput if a change of address would take a key to another server than the one it was saved for."""
    for key, (address, fallback) in _ADDRESSES.items():
        if name not in (address, fallback) or not settings[key]:
            continue
        now = {one: str(settings[one]) if settings.origins[one] != "default" else "" for one in (address, fallback)}
        before, after = (_find_origin(one[address], one[fallback]) for one in (now, now | {name: value}))
        if before and before != after:
            is_outside = settings.origins[key] in ("environment", "flag")
            take_out = f"unset {SETTINGS_BY_NAME[key].variable}" if is_outside else f"`sojourn config unset {key}`"
            raise BadInput(
                f"{key} was given for {before}; it does not go along to {after or 'another server'}.",
                hint=f"Take the key out first ({take_out}), then change {name}, then set the key of the new server.",
            )


def _find_origin(address: str, name: str) -> str:
    """The server that an address names, without its path; without an address, the name."""
    try:
        parts = urlsplit(address.strip().lower())
    except ValueError:
        return address
    return f"{parts.scheme}://{parts.netloc}" if address.strip() else name.strip().lower()
