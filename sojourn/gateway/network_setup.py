"""Set-up of chat networks: which there are, what each needs, and adding, testing and removing one.

The command line and the HTTP API are views of this. A running gateway follows config.toml, so nothing is restarted.
"""

from __future__ import annotations

import asyncio
import copy
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import MISSING, Field, dataclass, fields, replace
from http.client import HTTPConnection, HTTPException
from typing import Any, get_type_hints
from urllib.parse import urlsplit

from sojourn.core.errors import BadInput, NotFound, PlatformDown, SendRefused
from sojourn.core.sessions import OWNER
from sojourn.core.settings import Secret
from sojourn.gateway.connections import build_adapter, is_configured, list_platforms
from sojourn.gateway.payloads import ReplyTarget, SessionKeys
from sojourn.gateway.status import find_line_states
from sojourn.optional_packages import list_missing_packages
from sojourn.ports.app import AppContext
from sojourn.ports.platform import BotProfile, CanIdentify, PlatformAdapter
from sojourn.ports.plugin import Plugin, Prompt
from sojourn.settings.config_file import change_file, remove_plugin_table, set_plugin_table
from sojourn.turn_support.handoff_destinations import HomeChannel, HomeChannels

_RECEIVER_PORT = 8791  # the default of every network that sends requests to us
_RECEIVER_SECONDS, _LOOK_SECONDS = 5.0, 0.2
_TEST_SECONDS = 30.0  # for a running gateway to send a test message
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
    missing_packages: Sequence[str] = ()
    receives_at: str = ""  # where it has to send its requests to, on this machine


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
            missing_packages=list_missing_packages(plugin),
            receives_at=_find_receiver(app, plugins[plugin], name),
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


def _find_receiver(app: AppContext, plugin: Plugin, name: str) -> str:
    """The local address of a network that sends requests to us, with the settings as far as they are known."""
    defaults = {one.name: one.default for one in fields(plugin.settings)} if plugin.settings else {}
    if defaults.get("port") != _RECEIVER_PORT:
        return ""
    given = app.settings.plugins.get(plugin.name, {})
    return f"http://{given.get('host', defaults['host'])}:{given.get('port', _RECEIVER_PORT)}/{name}"


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


def require_known_settings(network: Network, values: Iterable[str]) -> None:
    """BadInput says which settings there are."""
    known = [one.name for one in network.fields]
    for name in values:
        if name not in known:
            hint = f"There are: {', '.join(known) or 'none'}."
            raise BadInput(f"{network.name} has no setting `{name}`.", hint=hint)


async def check_network(app: AppContext, network: Network, values: Mapping[str, Any]) -> BotProfile | None:
    """Asks the network whom these credentials belong to; None where it cannot say. BadConfig, KeyRefused,
    PlatformDown."""
    require_known_settings(network, values)
    if not values:
        hint = f"Those it has are tried by `sojourn gateway test {network.name}`."
        if not any(one.is_required for one in network.fields):
            hint = f"What it needs stands in [plugins.{network.plugin}] of config.toml: see docs/how-to."
        raise BadInput(f"{network.name} was given no settings.", hint=hint)
    async with _open_adapter(app, network, values) as adapter:
        return await adapter.identify() if isinstance(adapter, CanIdentify) else None


async def fetch_profile(app: AppContext, network: Network) -> BotProfile | None:
    """Whom the kept credentials belong to; None where a network cannot say. BadConfig, KeyRefused, PlatformDown."""
    async with _open_adapter(app, network, {}) as adapter:
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
        is_served = (await find_line_states(app.store)).get(network.name, {}).get("state") == "up"
        if is_served:  # its connection is the one to try, and may be the only one that a network allows
            await _send_by_gateway(app, adapter, channel)
        else:
            await adapter.send(channel.place, TEST_MESSAGE, plain=True)
        return channel.place.name or channel.place.chat


async def _send_by_gateway(app: AppContext, adapter: PlatformAdapter, channel: HomeChannel) -> None:
    """Puts the test message into the outbox, and waits until a gateway has sent it. SendRefused, PlatformDown."""
    key = SessionKeys(app.settings).key(channel.place, channel.chosen_by)
    to = ReplyTarget(platform=adapter.info.name, account=adapter.account, key=key, place=channel.place)
    [row] = await app.store.put_outgoing([to.draft(f"test/{uuid.uuid4().hex}", TEST_MESSAGE)])
    deadline = time.monotonic() + _TEST_SECONDS
    while time.monotonic() < deadline:
        [now] = [one for one in await app.store.outgoing(place=key, newest=True) if one.id == row.id] or [row]
        if now.state in ("sent", "delivered"):
            return
        if now.state == "failed":
            raise SendRefused(f"The test message was refused: {now.error}", kind="unknown")
        await asyncio.sleep(_LOOK_SECONDS)
    raise PlatformDown(f"The gateway has not sent the test message within {_TEST_SECONDS:.0f} seconds.")


def find_receiver_problem(network: Network) -> str:
    """Asks for the address that a network has to reach, from this machine; "" if we answer there."""
    address = urlsplit(network.receives_at)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=_RECEIVER_SECONDS)
    try:
        connection.request("GET", address.path)
        connection.getresponse().read()
    except (OSError, HTTPException) as error:
        return f"Nothing answers at {network.receives_at} ({error}). Is `sojourn serve` running?"
    finally:
        connection.close()
    return ""


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
