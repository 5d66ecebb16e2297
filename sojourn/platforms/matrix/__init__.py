"""The Matrix plugin: rooms and threads on any homeserver."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSettings:
    """From [plugins.matrix] and SOJOURN_MATRIX_…"""

    homeserver: str
    user: str  # @name:server
    access_token: Secret
    join: bool = True  # accept invitations; pairing decides who may talk


plugin = Plugin(
    name="matrix",
    summary="Talk in Matrix rooms and threads, on any homeserver.",
    platforms={"matrix": "sojourn.platforms.matrix.adapter:Matrix"},
    settings=MatrixSettings,
)
