"""What the platform `matrix` has to be told."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSettings:
    """From [plugins.matrix] and SOJOURN_MATRIX_…"""

    homeserver: str
    user: str  # @name:server
    access_token: Secret
    join: bool = True  # whether invitations are followed; who may talk is decided afterwards
