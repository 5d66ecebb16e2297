"""Plugin: sessions over HTTP. Light to import: `serve` loads the web framework."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="http",
    summary="Serves sessions, search and live events over HTTP.",
    commands=(
        "sojourn.http.cli:serve",
        "sojourn.http.cli:dashboard",
        "sojourn.http.cli_server:server",
        "sojourn.http.cli_access:token",
        "sojourn.http.cli_access:browsers",
    ),
)
