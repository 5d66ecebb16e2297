"""Set-up of providers: their keys and addresses in config.toml, and the default model.

A saved key goes only to the address that was saved with it: who gives another address has to give the key again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadConfig, BadInput
from sojourn.core.settings import Secret, Settings
from sojourn.optional_packages import list_missing_packages
from sojourn.runtimes.models import PLUGIN
from sojourn.runtimes.models.selection import (
    PROVIDERS,
    ModelChoice,
    check_address,
    choice_from_settings,
    choice_of_provider,
    find_provider,
    find_saved,
    has_saved,
)
from sojourn.settings.config_file import change_file, remove_table, remove_value, set_table, set_value
from sojourn.settings.table import SETTINGS_BY_NAME

_REPLACED_RUNTIMES = ("", "offline")  # who connects a model wants it to answer
_FOREIGN_ORIGINS = ("environment", "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderInfo:
    """A provider as a page shows it. Its key is never told, only whether there is one."""

    name: str
    label: str
    base_url: str
    needs_key: bool
    has_key: bool
    is_saved: bool
    is_default: bool
    missing_packages: Sequence[str] = ()


def list_providers(settings: Settings) -> list[ProviderInfo]:
    """Those we know, then others that were saved by their address."""
    saved = settings.plugins.get(PLUGIN, {}).get("providers", {})
    names = [*PROVIDERS, *(name for name in saved if name not in PROVIDERS)]
    default = find_default(settings)
    return [_describe(settings, name, default, is_saved=name in saved) for name in names]


def find_default(settings: Settings) -> ModelChoice | None:
    """The model that answers when a request names none; None if none is set up, or not completely."""
    try:
        return choice_from_settings(settings)
    except BadConfig:
        return None


def _describe(settings: Settings, name: str, default: ModelChoice | None, *, is_saved: bool) -> ProviderInfo:
    key, base_url = find_saved(settings, name)
    known, is_default = PROVIDERS.get(name), default is not None and default.provider.name == name
    address = default.base_url if default and is_default else base_url or (known.base_url if known else "")
    return ProviderInfo(
        name=name,
        label=known.label if known else name,
        base_url=address,
        needs_key=known is not None and not known.keyless,
        has_key=bool(key.reveal() or (default and is_default and default.key.reveal())),
        is_saved=is_saved,
        is_default=is_default,
        missing_packages=list_missing_packages(name),
    )


def make_candidate(settings: Settings, name: str, model: str, key: str | None, base_url: str | None) -> ModelChoice:
    """The choice that a person tries: with what they give, or else with what is saved. BadInput."""
    try:
        if key is None and base_url is None:
            default = find_default(settings)
            if default is not None and default.provider.name == name:
                return ModelChoice(
                    provider=default.provider, base_url=default.base_url, name=model or default.name, key=default.key
                )
            return choice_of_provider(settings, name, model)
        address = (base_url or "").strip()
        provider = find_provider(name, address)
        check_address(address or provider.base_url)
    except BadConfig as error:
        raise BadInput(str(error), hint=error.hint) from error
    return ModelChoice(
        provider=provider, base_url=(address or provider.base_url).rstrip("/"), name=model, key=Secret(key or "")
    )


def save_provider(settings: Settings, name: str, key: str | None, base_url: str | None) -> None:
    """Keeps the key and the address of a provider. Without a key, the saved one stays if the address does. BadInput."""
    saved_key, saved_url = find_saved(settings, name)
    address = (saved_url if base_url is None else base_url).strip()
    kept = saved_key.reveal() if key is None and address == saved_url else (key or "").strip()
    choice = make_candidate(settings, name, "", kept, address)
    if not kept and not choice.provider.keyless and not address:
        raise BadInput(f"{choice.provider.label} needs a key.", hint="Give `key`; the provider's site shows it.")
    if any(not letter.isprintable() for letter in kept):
        raise BadInput("The key has characters that cannot be seen.", hint="Copy it again, without line breaks.")
    table = {name: value for name, value in (("api_key", kept), ("base_url", address)) if value}
    change_file(settings.home, lambda document: set_table(document, ["plugins", PLUGIN, "providers", name], table))


def remove_provider(settings: Settings, name: str) -> None:
    """Removes the key and the address of a provider; it is no longer the default either."""
    is_default = str(settings["model.provider"]).strip().lower() == name

    def change(document: Any) -> None:
        remove_table(document, ["plugins", PLUGIN, "providers", name])
        if is_default:
            _remove_default(document)

    change_file(settings.home, change)


def set_default(settings: Settings, name: str, model: str) -> None:
    """Makes a model of a set-up provider the one that answers. What `[model]` held for another one is kept with it."""
    _require_changeable(settings)
    make_candidate(settings, name, model, None, None)
    before = {key: str(settings[f"model.{key}"]).strip() for key in ("provider", "base_url")}
    before["api_key"] = settings["model.api_key"].reveal()

    def change(document: Any) -> None:
        _keep_former(document, before, settings)
        set_value(document, "model.provider", name)
        set_value(document, "model.name", model)
        if settings["agent.runtime"] in _REPLACED_RUNTIMES:
            set_value(document, "agent.runtime", "native")

    change_file(settings.home, change)


def clear_default(settings: Settings) -> None:
    """Takes the default model away; the providers keep their keys."""
    _require_changeable(settings)
    change_file(settings.home, _remove_default)


def _remove_default(document: Any) -> None:
    for name in ("model.provider", "model.name", "model.base_url", "model.api_key"):
        remove_value(document, name)
    if document.get("agent", {}).get("runtime") == "native":
        remove_value(document, "agent.runtime")


def _keep_former(document: Any, before: Mapping[str, str], settings: Settings) -> None:
    """Moves key and address out of `[model]` to the provider they belong to: they must not go to another one."""
    former = before["provider"].lower() or ("compatible" if before["base_url"] else "")
    table = {name: before[name] for name in ("api_key", "base_url") if before[name]}
    if former and table and not has_saved(settings, former):
        set_table(document, ["plugins", PLUGIN, "providers", former], table)
    remove_value(document, "model.api_key")
    remove_value(document, "model.base_url")


def _require_changeable(settings: Settings) -> None:
    for name in ("model.provider", "model.name", "model.base_url", "model.api_key"):
        if settings.origins[name] in _FOREIGN_ORIGINS:
            raise BadInput(
                f"{name} is set by {SETTINGS_BY_NAME[name].variable}, which beats a choice made here.",
                hint="Unset the variable, and start Sojourn again.",
            )
