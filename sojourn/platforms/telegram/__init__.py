"""The Telegram plugin: a bot in private chats, groups and forums, by long polling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "telegram"
TOKEN_VARIABLE = "SOJOURN_TELEGRAM_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelegramSettings:
    """The bot's token and the address of its Bot API server."""

    token: Annotated[
        Secret, Prompt("Bot token", "In Telegram, write /newbot to @BotFather and copy the token it gives you.")
    ]
    base_url: str = "https://api.telegram.org"  # or a Bot API server of your own
    poll_seconds: int = 30  # of one long poll
    answer_seconds: float = 20.0  # timeout of a request
    proxy: Secret = field(
        default_factory=Secret
    )  # may hold a password; http://… or socks5://…; before those of the environment
    addresses: tuple[str, ...] = ()  # tried if the official server cannot be reached by its name


plugin = Plugin(
    name=NAME,
    summary="Talk to a Telegram bot; hand-offs open a topic where there are topics.",
    platforms={NAME: "sojourn.platforms.telegram.adapter:Telegram"},
    settings=TelegramSettings,
)
