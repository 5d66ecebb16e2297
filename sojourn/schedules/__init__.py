"""Plugin: prompts that run by themselves at set times. Light to import: the commands load the rest."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="schedules",
    summary="Runs prompts at set times and delivers the answers.",
    commands=("sojourn.schedules.cli:schedule",),
    routes=("sojourn.schedules.api:router",),
)
