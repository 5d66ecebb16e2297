"""slack: an app in channels and private chats, heard through Socket Mode: no public address is needed."""

from sojourn.platforms.slack.settings import NAME, SlackSettings
from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name=NAME,
    summary="Talk to a Slack app; hand-offs open a thread.",
    platforms={NAME: "sojourn.platforms.slack.adapter:make"},
    settings=SlackSettings,
)
