"""Home channels: where on a network a hand-off lands when nobody names a place."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.codec import encode_value
from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.core.sessions import OWNER, Principal
from sojourn.core.settings import Settings
from sojourn.gateway.pairing import pairs
from sojourn.gateway.payloads import place_from
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.records import Record, RecordStore

_KIND = "gateway_home"


@dataclass(frozen=True, slots=True)
class HomeChannel:
    """A place, and who chose it there; nobody, if it stands in the settings or was named."""

    place: Place
    chosen_by: Sender | None = None


class HomeChannels:
    """One for each person and network. What was said in a chat beats the settings, which are the owner's."""

    def __init__(self, store: RecordStore, settings: Settings) -> None:
        self._store = store
        self._settings = dict(pairs(settings["gateway.home"], "gateway.home"))

    async def set(self, place: Place, principal: Principal, by: Sender) -> None:
        value = {"place": encode_value(place), "by": by.id, "name": by.name}
        await self._store.put_record(
            Record(kind=_KIND, key=_key(principal, place.platform), value=value, principal=principal)
        )

    async def known(self, platform: str, principal: Principal) -> bool:
        kept = await self._store.get_record(_KIND, _key(principal, platform))
        return kept is not None or (principal == OWNER and platform in self._settings)

    async def find(self, adapter: PlatformAdapter, principal: Principal, target: str = "") -> HomeChannel:
        """The place that is named, the home channel, or BadInput with what to do."""
        if target:
            return HomeChannel(adapter.home(target))
        kept = await self._store.get_record(_KIND, _key(principal, adapter.info.name))
        if kept is not None and (place := place_from(kept.value)) is not None:
            return HomeChannel(place, Sender(id=str(kept.value["by"]), name=str(kept.value.get("name", ""))))
        if principal == OWNER and adapter.info.name in self._settings:
            return HomeChannel(adapter.home(self._settings[adapter.info.name]))
        raise no_home(adapter.info.name)


def no_home(platform: str) -> BadInput:
    return BadInput(
        f"{platform} has no home channel.", hint=f"Write /sethome in the chat there, or name one: {platform}:CHAT."
    )


def _key(principal: Principal, platform: str) -> str:
    return f"{platform}/{principal}"
