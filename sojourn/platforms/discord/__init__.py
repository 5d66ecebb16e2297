"""discord: a bot in private chats, channels and threads, heard through Discord's gateway."""

from sojourn.platforms.discord.settings import NAME, DiscordSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name=NAME,
    summary="Talk to a Discord bot; hand-offs open a thread in a channel.",
    platforms={NAME: "sojourn.platforms.discord.adapter:make"},
    settings=DiscordSettings,
)
