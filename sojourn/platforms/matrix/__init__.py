"""matrix: talk in Matrix rooms and threads, on any homeserver."""

from sojourn.platforms.matrix.settings import MatrixSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="matrix",
    summary="Talk in Matrix rooms and threads, on any homeserver.",
    platforms={"matrix": "sojourn.platforms.matrix.adapter:Matrix"},
    settings=MatrixSettings,
)
