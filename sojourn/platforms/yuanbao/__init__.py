"""The Yuanbao plugin: a bot in Tencent's assistant app, over its WebSocket, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "yuanbao"
SECRET_VARIABLE = "SOJOURN_YUANBAO_APP_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class YuanbaoSettings:
    """From [plugins.yuanbao] and SOJOURN_YUANBAO_…"""

    app_key: Annotated[str, Prompt("App key", "In the Yuanbao app, your bot's page: its App ID.")]
    app_secret: Annotated[Secret, Prompt("App secret", "It stands beside the App ID.")]
    api_url: str = "https://bot.yuanbao.tencent.com"
    ws_url: str = "wss://bot-wss.yuanbao.tencent.com/wss/connection"
    upload_url: str = "https://{bucket}.cos.{region}.myqcloud.com"


plugin = Plugin(
    name=NAME,
    summary="Talk to a bot in Yuanbao.",
    platforms={NAME: "sojourn.platforms.yuanbao.adapter:Yuanbao"},
    settings=YuanbaoSettings,
)
