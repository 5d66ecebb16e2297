"""telegram: a bot in private chats, groups and forums, heard by long polling."""

from sojourn.platforms.telegram.settings import NAME, TelegramSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name=NAME,
    summary="Talk to a Telegram bot; hand-offs open a topic where there are topics.",
    platforms={NAME: "sojourn.platforms.telegram.adapter:make"},
    settings=TelegramSettings,
)
