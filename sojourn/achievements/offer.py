"""What this package offers to the rest of the program."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="hermes-achievements",
    summary="Badges for what your history has seen.",
    routes=("sojourn.achievements.plugin_api:router",),
    commands=("sojourn.achievements.commands:achievements",),
    forgets=("sojourn.achievements.forgetting:forget",),
)
