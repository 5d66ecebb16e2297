"""The DingTalk plugin: the robot of a company's internal app, over Stream mode, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "dingtalk"
SECRET_VARIABLE = "SOJOURN_DINGTALK_CLIENT_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class DingTalkSettings:
    """From [plugins.dingtalk] and SOJOURN_DINGTALK_…"""

    client_id: Annotated[
        str, Prompt("Client ID", "In the DingTalk developer console, your app: Credentials & Basic Information.")
    ]
    client_secret: Annotated[Secret, Prompt("Client secret", "It stands beside the Client ID.")]
    robot_code: str = ""  # the client id, if empty
    card_template: str = ""  # of an AI card; with it messages can be edited and questions have buttons
    base_url: str = "https://api.dingtalk.com"
    oapi_url: str = "https://oapi.dingtalk.com"  # of session webhooks and uploads


plugin = Plugin(
    name=NAME,
    summary="Talk to a robot in DingTalk.",
    platforms={NAME: "sojourn.platforms.dingtalk.adapter:make"},
    settings=DingTalkSettings,
)
