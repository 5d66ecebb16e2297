"""The Discord plugin: a bot in private chats, channels and threads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "discord"
TOKEN_VARIABLE = "SOJOURN_DISCORD_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The bot's token and the address of Discord's API."""

    token: Annotated[
        Secret, Prompt("Bot token", "At discord.com/developers/applications, your application: Bot, Reset Token.")
    ]
    base_url: str = "https://discord.com/api/v10"
    answer_seconds: float = 30.0  # timeout of a request


plugin = Plugin(
    name=NAME,
    summary="Talk to a Discord bot; hand-offs open a thread in a channel.",
    platforms={NAME: "sojourn.platforms.discord.adapter:Discord"},
    settings=DiscordSettings,
)
