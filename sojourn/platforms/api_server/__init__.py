"""api_server: the HTTP API as a platform. A program has chats and threads of its own, like a person on a network."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.ports.plugin import Plugin

NAME = "api_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    """From [plugins.api_server] and SOJOURN_API_SERVER_…; that it is there at all lets the gateway serve it."""

    longest_wait: float = 300.0  # seconds for which a program may wait for an answer in one call


plugin = Plugin(
    name=NAME,
    summary="Programs talk through the HTTP API; sessions can be handed to them.",
    platforms={NAME: "sojourn.platforms.api_server.chats:ApiServer"},
    routes=("sojourn.platforms.api_server.routes:router",),
    settings=ApiServerSettings,
)
