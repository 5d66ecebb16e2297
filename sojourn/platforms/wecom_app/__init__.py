"""The WeCom application plugin: a self-built app with encrypted callbacks, for private chats with members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "wecom_app"
SECRET_VARIABLE = "SOJOURN_WECOM_APP_CORP_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class WecomAppSettings:
    """From [plugins.wecom_app] and SOJOURN_WECOM_APP_…"""

    corp_id: Annotated[str, Prompt("Corp ID", "In the WeCom console: My Company, at the bottom of the page.")]
    agent_id: Annotated[int, Prompt("Agent ID", "App Management, your app: AgentId.")]
    corp_secret: Annotated[Secret, Prompt("Secret", "It stands below the AgentId.")]
    token: Annotated[Secret, Prompt("Token", "Your app, Receive Messages, Set API: Token, made at random.")]
    aes_key: Annotated[Secret, Prompt("EncodingAESKey", "In the same place: 43 characters, made at random.")]
    base_url: str = "https://qyapi.weixin.qq.com"
    host: str = "127.0.0.1"
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk to a self-built app in WeCom.",
    platforms={NAME: "sojourn.platforms.wecom_app.adapter:WecomApp"},
    settings=WecomAppSettings,
)
