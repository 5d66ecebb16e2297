"""The Slack plugin: an app that connects through Socket Mode, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "slack"
TOKEN_VARIABLE, APP_TOKEN_VARIABLE = "SOJOURN_SLACK_TOKEN", "SOJOURN_SLACK_APP_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """The app's two tokens and the address of Slack's API."""

    token: Annotated[
        Secret,
        Prompt("Bot token (xoxb-…)", "At api.slack.com/apps, your app: OAuth & Permissions, Bot User OAuth Token."),
    ]
    app_token: Annotated[
        Secret,
        Prompt(
            "App token (xapp-…)", "Your app: Basic Information, App-Level Tokens, with the scope connections:write."
        ),
    ]
    base_url: str = "https://slack.com/api"
    team: str = ""  # the workspace's id, T…; Slack sends it after connecting
    answer_seconds: float = 20.0  # timeout of a request


plugin = Plugin(
    name=NAME,
    summary="Talk to a Slack app; hand-offs open a thread.",
    platforms={NAME: "sojourn.platforms.slack.adapter:Slack"},
    settings=SlackSettings,
)
