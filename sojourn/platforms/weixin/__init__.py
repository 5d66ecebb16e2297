"""The Weixin plugin: a bot in the personal WeChat app, over Tencent's iLink, without a public address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "weixin"
TOKEN_VARIABLE = "SOJOURN_WEIXIN_TOKEN"
BASE_URL = "https://ilinkai.weixin.qq.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeixinSettings:
    """From [plugins.weixin] and SOJOURN_WEIXIN_…; all but the addresses come from scanning a QR code."""

    token: Annotated[Secret, Prompt("Bot token", "It comes from scanning a QR code: `sojourn gateway add weixin`.")]
    account_id: str = ""  # the bot's
    owner_id: str = ""  # of the person who scanned the code
    base_url: str = BASE_URL
    cdn_url: str = "https://novac2c.cdn.weixin.qq.com/c2c"


plugin = Plugin(
    name=NAME,
    summary="Talk to a bot in WeChat.",
    platforms={NAME: "sojourn.platforms.weixin.adapter:Weixin"},
    settings=WeixinSettings,
    sign_ins={NAME: "sojourn.platforms.weixin.sign_in:sign_in"},
)
