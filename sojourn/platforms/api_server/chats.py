"""The chats of programs: rooms of our own, under another name than those of `local`."""

from __future__ import annotations

from sojourn.platforms.api_server import NAME
from sojourn.platforms.rooms import Rooms
from sojourn.platforms.rooms_adapter import MAX_CHARS, RoomsAdapter
from sojourn.ports.app import HasStore, PluginContext
from sojourn.ports.platform import PlatformInfo


class Chats(Rooms):
    """All chats that programs have."""

    def __init__(self, kit: HasStore) -> None:
        super().__init__(kit, NAME)


class ApiServer(RoomsAdapter):
    """The agent's account there. Whoever holds the server's token writes as `owner`."""

    info = PlatformInfo(name=NAME, label="HTTP API", max_chars=MAX_CHARS, owner="owner")

    def __init__(self, kit: PluginContext) -> None:
        super().__init__(self.info, kit.shared(Chats), kit.store)
