"""The networks' test servers that run inside a test, by the network's name."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from tests.servers.bluebubbles import bluebubbles_rig
from tests.servers.dingtalk import dingtalk_rig
from tests.servers.discord import discord_rig
from tests.servers.feishu import feishu_rig
from tests.servers.homeassistant import HouseHarness
from tests.servers.mattermost import MattermostHarness
from tests.servers.msgraph_webhook import msgraph_rig
from tests.servers.ntfy import NtfyHarness
from tests.servers.qqbot import qqbot_rig
from tests.servers.signal_daemon import signal_harness
from tests.servers.slack import slack_rig
from tests.servers.sms import sms_rig
from tests.servers.teams import teams_rig
from tests.servers.telegram import telegram_rig
from tests.servers.webhook import HookHarness
from tests.servers.wecom import wecom_rig
from tests.servers.wecom_app import wecom_app_rig
from tests.servers.weixin import weixin_rig
from tests.servers.whatsapp import whatsapp_rig
from tests.servers.whatsapp_bridge import BridgeHarness
from tests.servers.yuanbao import yuanbao_rig

Rig = Callable[[], AbstractAsyncContextManager[Any]]

RIGS: dict[str, Rig] = {
    "homeassistant": HouseHarness,
    "mattermost": MattermostHarness,
    "ntfy": NtfyHarness,
    "signal": signal_harness,
    "webhook": HookHarness,
    "dingtalk": dingtalk_rig,
    "feishu": feishu_rig,
    "qqbot": qqbot_rig,
    "wecom": wecom_rig,
    "wecom_app": wecom_app_rig,
    "weixin": weixin_rig,
    "yuanbao": yuanbao_rig,
    "whatsapp": whatsapp_rig,
    "whatsapp_bridge": BridgeHarness,
    "sms": sms_rig,
    "bluebubbles": bluebubbles_rig,
    "teams": teams_rig,
    "msgraph_webhook": msgraph_rig,
    "telegram": telegram_rig,
    "discord": discord_rig,
    "slack": slack_rig,
}
