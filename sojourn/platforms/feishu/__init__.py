"""The Feishu plugin, for Feishu and Lark: a self-built app over its long connection, or over a webhook."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "feishu"
SECRET_VARIABLE = "SOJOURN_FEISHU_APP_SECRET"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeishuSettings:
    """From [plugins.feishu] and SOJOURN_FEISHU_…"""

    app_id: Annotated[
        str, Prompt("App ID", "In the Feishu or Lark developer console, your app: Credentials & Basic Info.")
    ]
    app_secret: Annotated[Secret, Prompt("App secret", "It stands beside the App ID.")]
    base_url: Annotated[str, Prompt("Server", "Feishu, or Lark: https://open.larksuite.com")] = "https://open.feishu.cn"
    comments: tuple[str, ...] = ()  # documents whose comments are answered: docx:TOKEN, or * for all
    webhook: bool = False  # else a WebSocket, which needs no public address
    encrypt_key: Secret = field(default_factory=Secret)  # for the webhook, as the next three
    verification_token: Secret = field(default_factory=Secret)
    host: str = "127.0.0.1"
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk to an app in Feishu or Lark; hand-offs open a thread.",
    platforms={NAME: "sojourn.platforms.feishu.adapter:Feishu"},
    settings=FeishuSettings,
)
