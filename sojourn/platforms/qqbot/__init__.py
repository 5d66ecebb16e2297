"""The QQ plugin: an official bot over its WebSocket, without a public address, or over a webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "qqbot"
SECRET_VARIABLE = "SOJOURN_QQBOT_CLIENT_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class QqbotSettings:
    """From [plugins.qqbot] and SOJOURN_QQBOT_…"""

    app_id: Annotated[str, Prompt("App ID", "On the QQ open platform, your bot: Development Settings.")]
    client_secret: Annotated[Secret, Prompt("App secret", "It stands beside the App ID and is shown once.")]
    markdown: bool = False  # QQ has allowed the bot Markdown and buttons
    base_url: str = "https://api.sgroup.qq.com"  # sandbox: https://sandbox.api.sgroup.qq.com
    token_url: str = "https://bots.qq.com"
    webhook: bool = False  # else a WebSocket, which needs no public address
    host: str = "127.0.0.1"  # for the webhook
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk to a bot in QQ.",
    platforms={NAME: "sojourn.platforms.qqbot.adapter:make"},
    settings=QqbotSettings,
)
