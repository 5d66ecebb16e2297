"""What this package offers to the rest of the program."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="hermes-achievements",
    summary="Badges for what your history has seen.",
    routes=("sojourn.achievements.plugin_api:router",),
    commands=("sojourn.achievements.commands:achievements",),
    manifest={
        "label": "Achievements",
        "description": "Badges for what your history has seen.",
        "icon": "Star",
        "version": "1.0.0",
        "api": "plugin_api.py",
        "tab": {"path": "/achievements", "position": "after:sessions"},
    },
    erasers=("sojourn.achievements.factory:erase_session",),
)
