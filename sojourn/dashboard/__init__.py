"""SURFACE: the pages. Light to import: the web framework comes when `serve` runs."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="dashboard",
    summary="The pages in the browser, and what only they ask for.",
    routes=("sojourn.dashboard.api:router",),
    page_routes=("sojourn.dashboard.pages:router",),
    catch_all_routes=("sojourn.dashboard.proxy:router",),
)
