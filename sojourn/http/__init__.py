"""SURFACE: the same sessions over HTTP. Light to import: the web framework comes when `serve` runs."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="http",
    summary="Serves sessions, search and live events over HTTP.",
    commands=("sojourn.http.serve_command:serve", "sojourn.http.dashboard_command:dashboard"),
)
