"""Counting: what a history holds, and the badges it earns.

Badges and rules come from hermes-achievements (PCinkusz, MIT); the counting is ours.
"""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="hermes-achievements",
    summary="Badges for what your history has seen.",
    routes=("sojourn.achievements.plugin_api:router",),
    commands=("sojourn.achievements.commands:achievements",),
)
