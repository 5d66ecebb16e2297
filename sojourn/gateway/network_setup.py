"""Set-up of chat networks: which there are, what each needs, and adding, testing and removing one.

The command line and the HTTP API are views of this. A running gateway follows config.toml, so nothing is restarted.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import MISSING, Field, dataclass, fields, replace
from typing import Any, get_type_hints

from sojourn.config_file import change_file, remove_plugin_table, set_plugin_table
from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import OWNER
from sojourn.core.settings import Secret
from sojourn.gateway.connections import build_adapter, is_configured, list_platforms
from sojourn.ports.app import AppContext
from sojourn.ports.platform import BotProfile, CanIdentify, PlatformAdapter
from sojourn.ports.plugin import Plugin, Prompt
from sojourn.service.home_channels import HomeChannels

TEST_MESSAGE = "This is a test message from Sojourn. The connection works."


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkField:
    """One setting of a network: its question, and a sentence on where to find the answer."""

    name: str
    label: str
    where: str
    is_secret: bool
    is_required: bool
    default: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A network that can be added."""

    name: str
    plugin: str
    summary: str
    is_configured: bool
    fields: Sequence[NetworkField]
    can_sign_in: bool = False  # by steps that a person follows; the settings come from there


def list_networks(app: AppContext) -> list[Network]:
    """Every network whose plugin is installed."""
    plugins = {plugin.name: plugin for plugin in app.plugins()}
    return [
        Network(
            name=name,
            plugin=plugin,
            summary=plugins[plugin].summary,
            is_configured=is_configured(app, plugin),
            fields=_list_fields(plugins[plugin]),
            can_sign_in=name in plugins[plugin].sign_ins,
        )
        for name, (plugin, _) in list_platforms(app).items()
    ]


def find_network(app: AppContext, name: str) -> Network:
    """NotFound says which there are."""
    found = {one.name: one for one in list_networks(app)}
    if name not in found:
        raise NotFound(f'There is no network "{name}".', hint=f"Choose from: {', '.join(sorted(found))}.")
    return found[name]


def _list_fields(plugin: Plugin) -> list[NetworkField]:
    if plugin.settings is None:
        return []
    hints = get_type_hints(plugin.settings, include_extras=True)
    return [_to_field(one, hints[one.name]) for one in fields(plugin.settings)]


def _to_field(one: Field[Any], kind: Any) -> NetworkField:
    prompts = [extra for extra in getattr(kind, "__metadata__", ()) if isinstance(extra, Prompt)]
    prompt = prompts[0] if prompts else Prompt(one.name.replace("_", " ").capitalize(), "")
    return NetworkField(
        name=one.name,
        label=prompt.label,
        where=prompt.where,
        is_secret=getattr(kind, "__origin__", kind) is Secret,
        is_required=one.default is MISSING and one.default_factory is MISSING,
        default=None if one.default is MISSING or isinstance(one.default, Secret) else one.default,
    )


async def check_network(app: AppContext, network: Network, values: Mapping[str, Any]) -> BotProfile | None:
    """Asks the network whom these credentials belong to; None where it cannot say. BadConfig, KeyRefused,
    PlatformDown."""
    unknown = [name for name in values if name not in {one.name for one in network.fields}]
    if unknown:
        names = ", ".join(one.name for one in network.fields) or "none"
        raise BadInput(f"{network.name} has no setting `{unknown[0]}`.", hint=f"There are: {names}.")
    if not values:
        raise BadInput(f"{network.name} was given no settings.", hint="`sojourn gateway test` tries the ones it has.")
    async with _open_adapter(app, network, values) as adapter:
        return await adapter.identify() if isinstance(adapter, CanIdentify) else None


async def add_network(app: AppContext, network: Network, values: Mapping[str, Any]) -> BotProfile | None:
    """Checks the credentials, then keeps them in config.toml, which only its owner can read."""
    profile = await check_network(app, network, values)
    change_file(app.settings.home, lambda document: set_plugin_table(document, network.plugin, values))
    return profile


def remove_network(app: AppContext, network: Network) -> None:
    """Removes the table of a network from config.toml. BadInput if it is configured elsewhere, or not at all."""
    if network.plugin not in app.settings.plugins:
        where = "by the environment" if network.is_configured else "not at all"
        hint = f"Unset the variables SOJOURN_{network.plugin.upper()}_…" if network.is_configured else ""
        raise BadInput(f"{network.name} is configured {where}, so there is nothing to remove.", hint=hint)
    change_file(app.settings.home, lambda document: remove_plugin_table(document, network.plugin))


async def send_test_message(app: AppContext, network: Network, chat: str = "") -> str:
    """Sends a message to a chat, or to the owner's home channel; returns its name. BadInput, SendRefused, PlatformDown,
    KeyRefused."""
    async with _open_adapter(app, network, {}) as adapter:
        channel = await HomeChannels(app.store, app.settings).find(adapter, OWNER, chat)
        await adapter.send(channel.place, TEST_MESSAGE, plain=True)
        return channel.place.name or channel.place.chat


@asynccontextmanager
async def _open_adapter(
    app: AppContext, network: Network, values: Mapping[str, Any]
) -> AsyncGenerator[PlatformAdapter, None]:
    """An adapter beside the gateway's, with these values, or with those of the settings if there are none."""
    candidate = copy.copy(app)
    if values:  # these alone: a kept secret must not go to an address that somebody gives here
        candidate.settings = replace(  # type: ignore[misc]  # of the copy, which nobody else has
            app.settings, plugins={**app.settings.plugins, network.plugin: dict(values)}, variables={}
        )
    adapter = build_adapter(candidate, network.name)
    try:
        yield adapter
    finally:
        await adapter.close()
