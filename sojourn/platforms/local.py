"""local: rooms with threads in our own store, to try hand-offs without an account.

The holder of the server's token writes as `owner`.
"""

from __future__ import annotations

from sojourn.platforms.rooms import LOCAL, Rooms
from sojourn.platforms.rooms_adapter import MAX_CHARS, RoomsAdapter
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import PlatformInfo
from sojourn.ports.plugin import Plugin


class Local(RoomsAdapter):
    """The agent's own account in these rooms."""

    info = PlatformInfo(name=LOCAL, label="Local rooms", max_chars=MAX_CHARS, owner="owner")

    def __init__(self, app: PluginContext) -> None:
        super().__init__(self.info, app.shared(Rooms), app.store)


plugin = Plugin(
    name=LOCAL,
    summary="Rooms with threads inside Sojourn: try the gateway and hand-offs without any account.",
    platforms={LOCAL: Local},
    routes=("sojourn.platforms.local_api:router",),
)
