"""The Teams plugin: a bot in Microsoft Teams, to which Microsoft sends signed requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "teams"
SECRET_VARIABLE = "SOJOURN_TEAMS_APP_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamsSettings:
    """From [plugins.teams] and SOJOURN_TEAMS_…"""

    app_id: Annotated[str, Prompt("App ID", "portal.azure.com, your Azure Bot: Configuration, Microsoft App ID.")]
    app_secret: Annotated[
        Secret, Prompt("App secret", "The same page: Manage Password, New client secret, its Value; it is shown once.")
    ]
    tenant: Annotated[str, Prompt("Tenant ID", "The same page: App Tenant ID.")]
    host: str = "127.0.0.1"
    port: int = 8791
    service_url: str = "https://smba.trafficmanager.net/teams/"  # for chats that nobody has written in yet
    login_url: str = "https://login.microsoftonline.com"
    openid_url: str = "https://login.botframework.com/v1/.well-known/openidconfiguration"
    issuer: str = "https://api.botframework.com"


plugin = Plugin(
    name=NAME,
    summary="Talk to a bot in Microsoft Teams.",
    platforms={NAME: "sojourn.platforms.teams.adapter:Teams"},
    settings=TeamsSettings,
)
