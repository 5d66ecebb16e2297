"""What this package offers to the rest of the program."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="templates",
    summary="Calls that worked before, ready for the next session.",
    context=("sojourn.templates.context_source:make",),
    routes=("sojourn.templates.plugin_api:router",),
    commands=("sojourn.templates.commands:templates",),
    erasers=("sojourn.templates.erase:forget",),
)
