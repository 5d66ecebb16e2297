"""The Mattermost plugin: channels, private chats and threads."""

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "mattermost"


@dataclass(frozen=True, slots=True, kw_only=True)
class MattermostSettings:
    """From [plugins.mattermost] and SOJOURN_MATTERMOST_…"""

    url: Annotated[str, Prompt("Server", "The address of your Mattermost, for example https://chat.example.org.")]
    token: Annotated[
        Secret, Prompt("Bot token", "In Mattermost: Integrations, Bot Accounts, Add Bot Account; copy its token.")
    ]


plugin = Plugin(
    name=NAME,
    summary="Talk in Mattermost channels and threads.",
    platforms={NAME: "sojourn.platforms.mattermost.adapter:Mattermost"},
    settings=MattermostSettings,
)
