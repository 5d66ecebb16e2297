"""The Home Assistant plugin: events become messages, answers become notifications."""

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "homeassistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeAssistantSettings:
    """From [plugins.homeassistant] and SOJOURN_HOMEASSISTANT_…"""

    token: Annotated[
        Secret,
        Prompt("Access token", "In Home Assistant: your profile, Security, Long-lived access tokens, Create token."),
    ]
    url: Annotated[str, Prompt("Address", "What you type into a browser to reach Home Assistant.")] = (
        "http://homeassistant.local:8123"
    )
    notify: str = "persistent_notification"  # the notify service for answers to events that name none
    events: tuple[str, ...] = ("sojourn_message",)
    entities: tuple[str, ...] = ()  # whose state changes become messages


plugin = Plugin(
    name=NAME,
    summary="Receive events from Home Assistant, and send notifications.",
    platforms={NAME: "sojourn.platforms.homeassistant.adapter:HomeAssistant"},
    settings=HomeAssistantSettings,
)
