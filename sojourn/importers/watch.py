"""Plugin: watches the histories of other agents. Light to import: the routes load the rest."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="import-watch",
    summary="Watches the histories of other agents, and says which programs delete theirs.",
    routes=("sojourn.importers.watch_routes:router",),
)
