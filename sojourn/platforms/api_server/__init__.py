"""api_server: the HTTP API as a platform. A program has chats and threads of its own, like a person on a network."""

from sojourn.platforms.api_server.settings import NAME, ApiServerSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name=NAME,
    summary="Programs talk through the HTTP API; sessions can be handed to them.",
    platforms={NAME: "sojourn.platforms.api_server.chats:ApiServer"},
    routes=("sojourn.platforms.api_server.routes:router",),
    settings=ApiServerSettings,
)
