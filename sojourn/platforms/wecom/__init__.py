"""The WeCom plugin: an AI bot over its WebSocket, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "wecom"
SECRET_VARIABLE = "SOJOURN_WECOM_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class WecomSettings:
    """From [plugins.wecom] and SOJOURN_WECOM_…"""

    bot_id: Annotated[str, Prompt("Bot ID", "In the WeCom console, your AI bot with a long connection: its Bot ID.")]
    secret: Annotated[Secret, Prompt("Secret", "It stands beside the Bot ID.")]
    name: Annotated[str, Prompt("Name", "The bot's name, which is left out of what people write to it in groups.")] = ""
    ws_url: str = "wss://openws.work.weixin.qq.com"


# The self-built app with encrypted callbacks is a plugin of its own, `wecom_app`.
plugin = Plugin(
    name=NAME,
    summary="Talk to an AI bot in WeCom.",
    platforms={NAME: "sojourn.platforms.wecom.adapter:Wecom"},
    settings=WecomSettings,
)
