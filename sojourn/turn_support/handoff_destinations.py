"""Destinations of a hand-off: the networks that a gateway serves now, and each person's home channel there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sojourn.core.errors import BadInput, NotFound, PlatformDown
from sojourn.core.handoff import LOCAL_SURFACES
from sojourn.core.messages import Json
from sojourn.core.places import Place, Sender
from sojourn.core.sessions import OWNER, Principal
from sojourn.core.settings import Settings
from sojourn.ports.gateway_store import Gateways
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.store import Record, RecordStore
from sojourn.settings.formats import parse_pairs
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import mark_identifiers

_KIND = "gateway_home"


async def require_gateway(store: Gateways, platform: str) -> None:
    """Raises unless a gateway can carry a hand-off there now. BadInput, PlatformDown, NotFound."""
    if not platform:
        raise BadInput("Hand it off to where?", hint="Name a platform: local, telegram, discord … or cli.")
    gateways = await store.gateways()
    if not gateways:
        raise PlatformDown("No gateway is running.", hint="Start one: `sojourn serve` or `sojourn gateway run`.")
    if platform in LOCAL_SURFACES:
        return
    health = [one.health.get("lines", {}) for one in gateways]
    serving = [lines[platform] for lines in health if lines.get(platform)]
    if not serving:
        names = ", ".join(sorted({name for lines in health for name in lines} | set(LOCAL_SURFACES)))
        hint = f"It can go to {names} now; `sojourn gateway add` sets up a network."
        raise NotFound(f'No gateway serves "{platform}".', hint=hint)
    if not any(line["state"] in ("up", "starting") for line in serving):
        why = next((line["problem"] for line in serving if line["problem"]), "its connection is down")
        raise PlatformDown(f"{platform} cannot be reached now: {why}", hint="`sojourn gateway status` shows more.")


@dataclass(frozen=True, slots=True)
class HomeChannel:
    """A place and the person who chose it with /sethome; None if it comes from the settings or the request."""

    place: Place
    chosen_by: Sender | None = None


class HomeChannels:
    """One per person and network. /sethome beats the setting `gateway.home`, which is the owner's."""

    def __init__(self, store: RecordStore, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def _configured(self) -> dict[str, str]:
        return dict(parse_pairs(self._settings["gateway.home"], "gateway.home"))

    async def set(self, place: Place, principal: Principal, by: Sender) -> None:
        value = mark_identifiers({"place": encode_value(place), "by": by.id, "name": by.name})
        key = _key(principal, place.platform)
        await self._store.put_record(Record(kind=_KIND, key=key, value=value, principal=principal))

    async def require(self, platform: str, principal: Principal) -> None:
        """BadInput if this person has no home channel there."""
        saved = await self._store.get_record(_KIND, _key(principal, platform))
        if saved is None and not (principal == OWNER and platform in self._configured()):
            raise _no_home_channel(platform)

    async def find(self, adapter: PlatformAdapter, principal: Principal, target: str = "") -> HomeChannel:
        """The chat `target`, or this person's home channel. BadInput if there is none."""
        platform = adapter.info.name
        if target:
            return HomeChannel(adapter.home(target))
        saved = await self._store.get_record(_KIND, _key(principal, platform))
        if saved is not None and (place := place_from(saved.value)) is not None:
            return HomeChannel(place, Sender(id=str(saved.value["by"]), name=str(saved.value.get("name", ""))))
        if principal == OWNER and (chat := self._configured().get(platform)):
            return HomeChannel(adapter.home(chat))
        raise _no_home_channel(platform)


def place_from(details: Mapping[str, Json]) -> Place | None:
    """Decodes the place stored in the details of a binding or a home channel."""
    raw = details.get("place") if hasattr(details, "get") else None
    return decode_value(Place, raw) if isinstance(raw, dict) else None


def _no_home_channel(platform: str) -> BadInput:
    return BadInput(f"{platform} has no home channel.", hint=f"Write /sethome there, or name one: {platform}:CHAT.")


def _key(principal: Principal, platform: str) -> str:
    return f"{platform}/{principal}"
