"""Plugin: goes on with a session in another program. Light to import: the command and the routes load the rest."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="continuation",
    summary="Goes on with a session in another program.",
    commands=("sojourn.continuation.commands:continue_",),
    routes=("sojourn.continuation.routes:router",),
)
