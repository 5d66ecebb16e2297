"""The WhatsApp plugin: a business number on Meta's Cloud API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "whatsapp"
TOKEN_VARIABLE = "SOJOURN_WHATSAPP_ACCESS_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatsappSettings:
    """From [plugins.whatsapp] and SOJOURN_WHATSAPP_…"""

    phone_number_id: Annotated[
        str, Prompt("Phone number ID", "developers.facebook.com, your app: WhatsApp, API Setup. It is not the number.")
    ]
    access_token: Annotated[
        Secret, Prompt("Access token", "business.facebook.com, Settings, System users: Generate token, never expires.")
    ]
    app_secret: Annotated[Secret, Prompt("App secret", "developers.facebook.com, your app: App settings, Basic, Show.")]
    verify_token: Annotated[
        Secret,
        Prompt("Verify token", "Any long word of yours. Type the same one into WhatsApp, Configuration, Webhook."),
    ]
    template: str = ""  # an approved template with one variable, for what is said after 24 hours of silence
    template_language: str = "en"
    api_version: str = "v24.0"
    base_url: str = "https://graph.facebook.com"
    host: str = "127.0.0.1"
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk on WhatsApp with a business number (Cloud API).",
    platforms={NAME: "sojourn.platforms.whatsapp.adapter:Whatsapp"},
    settings=WhatsappSettings,
)
