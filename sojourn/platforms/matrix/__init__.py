"""The Matrix plugin: rooms and threads on any homeserver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSettings:
    """From [plugins.matrix] and SOJOURN_MATRIX_…"""

    homeserver: Annotated[str, Prompt("Homeserver", "The address of the server, for example https://matrix.org.")]
    user: Annotated[
        str, Prompt("User", "The account that Sojourn uses, for example @sojourn:matrix.org; make one of its own.")
    ]
    access_token: Annotated[
        Secret,
        Prompt(
            "Access token", "One of its own, asked for as docs/how-to/matrix.md says; not the one that Element shows."
        ),
    ]
    join: bool = True  # accept invitations; pairing decides who may talk
    encryption: bool = True  # use encrypted rooms, if the extra `matrix-e2e` is installed
    identities: tuple[str, ...] = ()  # whose identity is known otherwise: "@ann:example.org <public master key>"


plugin = Plugin(
    name="matrix",
    summary="Talk in Matrix rooms and threads, on any homeserver.",
    platforms={"matrix": "sojourn.platforms.matrix.adapter:Matrix"},
    sign_ins={"matrix": "sojourn.platforms.matrix.sign_in:sign_in"},
    settings=MatrixSettings,
)
