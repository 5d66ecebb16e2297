"""The Mattermost plugin: channels, private chats and threads."""

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "mattermost"


@dataclass(frozen=True, slots=True, kw_only=True)
class MattermostSettings:
    """From [plugins.mattermost] and SOJOURN_MATTERMOST_…"""

    url: str
    token: Secret  # of a bot account


plugin = Plugin(
    name=NAME,
    summary="Talk in Mattermost channels and threads.",
    platforms={NAME: "sojourn.platforms.mattermost.adapter:Mattermost"},
    settings=MattermostSettings,
)
