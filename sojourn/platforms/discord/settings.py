"""What can be set under [plugins.discord]."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret

NAME = "discord"
TOKEN_VARIABLE = "SOJOURN_DISCORD_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The bot, and where Discord is."""

    token: Secret  # of the bot, from the developer portal
    base_url: str = "https://discord.com/api/v10"
    answer_seconds: float = 30.0  # how long sending may take before the line counts as lost
