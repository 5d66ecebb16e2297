"""slack: an app in channels and private chats, heard through Socket Mode: no public address is needed."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "slack"
TOKEN_VARIABLE, APP_TOKEN_VARIABLE = "SOJOURN_SLACK_TOKEN", "SOJOURN_SLACK_APP_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlackSettings:
    """The app's two tokens, and where Slack is."""

    token: Secret  # the bot token, xoxb-…
    app_token: Secret  # for Socket Mode, xapp-…
    base_url: str = "https://slack.com/api"
    team: str = ""  # the workspace's id, T…; Slack tells it when the line is up
    answer_seconds: float = 20.0  # how long sending may take before the line counts as lost


plugin = Plugin(
    name=NAME,
    summary="Talk to a Slack app; hand-offs open a thread.",
    platforms={NAME: "sojourn.platforms.slack.adapter:build_adapter"},
    settings=SlackSettings,
)
