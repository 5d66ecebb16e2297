"""The plugin of the gateway: its routes and commands."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="gateway",
    summary="Talk to your sessions from chat networks, and hand them over.",
    routes=("sojourn.gateway.api:router",),
    commands=("sojourn.gateway.cli:gateway", "sojourn.gateway.cli:handoff"),
)
