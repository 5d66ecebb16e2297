"""irc: talk on an IRC network, in channels and privately."""

from sojourn.platforms.irc.settings import IrcSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="irc",
    summary="Talk on an IRC network, in channels and privately.",
    platforms={"irc": "sojourn.platforms.irc.adapter:Irc"},
    settings=IrcSettings,
)
