"""The BlueBubbles plugin: iMessage and SMS of an Apple account, through a Mac that runs BlueBubbles Server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "bluebubbles"
PASSWORD_VARIABLE = "SOJOURN_BLUEBUBBLES_PASSWORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class BluebubblesSettings:
    """From [plugins.bluebubbles] and SOJOURN_BLUEBUBBLES_…"""

    server: Annotated[
        str, Prompt("Server", "BlueBubbles Server on the Mac: Connection, Local Address, as http://192.168.1.20:1234.")
    ]
    password: Annotated[Secret, Prompt("Password", "BlueBubbles Server on the Mac: Settings, Server Password.")]
    webhook_url: str = ""  # where the Mac reaches us, as http://192.168.1.5:8791/bluebubbles; else it is asked
    private_api: bool = False  # the Private API is installed: replies, reactions, a typing sign
    mention_name: str = "Sojourn"  # the word that addresses us in a group
    poll_seconds: int = 5  # how often the server is asked without a webhook
    host: str = "127.0.0.1"
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk on iMessage, through a Mac that runs BlueBubbles.",
    platforms={NAME: "sojourn.platforms.bluebubbles.adapter:make"},
    settings=BluebubblesSettings,
)
