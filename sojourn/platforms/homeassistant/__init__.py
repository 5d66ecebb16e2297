"""homeassistant: what happens at home comes in as messages, answers go out as notifications."""

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "homeassistant"


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeAssistantSettings:
    """From [plugins.homeassistant] and SOJOURN_HOMEASSISTANT_…"""

    token: Secret  # a long-lived access token
    url: str = "http://homeassistant.local:8123"
    notify: str = "persistent_notification"  # where answers go when an event does not say
    events: tuple[str, ...] = ("sojourn_message",)
    entities: tuple[str, ...] = ()  # whose changes are messages


plugin = Plugin(
    name=NAME,
    summary="Hear what happens at home, and notify.",
    platforms={NAME: "sojourn.platforms.homeassistant.adapter:HomeAssistant"},
    settings=HomeAssistantSettings,
)
