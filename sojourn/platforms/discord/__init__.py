"""discord: a bot in private chats, channels and threads, heard through Discord's gateway."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "discord"
TOKEN_VARIABLE = "SOJOURN_DISCORD_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The bot, and where Discord is."""

    token: Secret  # of the bot, from the developer portal
    base_url: str = "https://discord.com/api/v10"
    answer_seconds: float = 30.0  # how long sending may take before the line counts as lost


plugin = Plugin(
    name=NAME,
    summary="Talk to a Discord bot; hand-offs open a thread in a channel.",
    platforms={NAME: "sojourn.platforms.discord.adapter:build_adapter"},
    settings=DiscordSettings,
)
