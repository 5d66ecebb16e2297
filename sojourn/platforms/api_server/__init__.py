"""The api_server plugin: the HTTP API as a platform, with chats and threads for programs."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.ports.plugin import Plugin

NAME = "api_server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerSettings:
    """From [plugins.api_server] and SOJOURN_API_SERVER_…; the gateway serves the platform if any is set."""

    longest_wait: float = 300.0  # seconds that one call may wait for an answer


plugin = Plugin(
    name=NAME,
    summary="Programs talk through the HTTP API; sessions can be handed to them.",
    platforms={NAME: "sojourn.platforms.api_server.chats:ApiServer"},
    routes=("sojourn.platforms.api_server.routes:router",),
    settings=ApiServerSettings,
)
