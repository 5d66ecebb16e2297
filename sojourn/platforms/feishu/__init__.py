"""The Feishu plugin, for Feishu and Lark: a self-built app over its long connection, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
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
    base_url: str = "https://open.feishu.cn"  # Lark: https://open.larksuite.com


plugin = Plugin(
    name=NAME,
    summary="Talk to an app in Feishu or Lark; hand-offs open a thread.",
    platforms={NAME: "sojourn.platforms.feishu.adapter:Feishu"},
    settings=FeishuSettings,
)
