"""Plugin: rebuilds sessions that other programs deleted. Light to import: the command loads the rest."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="rescue",
    summary="Rebuilds deleted sessions of Claude Code from what is left of them.",
    commands=("sojourn.importers.claude_code.rescue_command:rescue",),
)
