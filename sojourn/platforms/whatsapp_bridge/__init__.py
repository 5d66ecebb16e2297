"""The WhatsApp bridge plugin: a personal account, as one more linked device, through a Node program.

WhatsApp's terms do not allow it, and accounts get closed. It is off unless a person has agreed to that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from sojourn.ports.plugin import Plugin, Prompt

NAME = "whatsapp_bridge"
PACKAGE = "baileys@7.0.0-rc14"
RISK = (
    "WhatsApp's terms do not allow programs like this one, and WhatsApp closes accounts that use them, often for good. "
    "Nothing here comes from WhatsApp or Meta. For a number of your own that is allowed, use `whatsapp`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatsappBridgeSettings:
    """From [plugins.whatsapp_bridge] and SOJOURN_WHATSAPP_BRIDGE_…"""

    accept_risk: Annotated[bool, Prompt("Do you accept that the account may be closed (yes or no)", RISK)]
    folder: Annotated[
        Path,
        Prompt(
            "Folder",
            f"A folder of its own, in which you have run `npm install {PACKAGE}`. The account's keys are kept there.",
        ),
    ]
    linked: bool = True  # the account is a person's own: only their chat with themselves is read
    node: str = "node"  # the program that runs it, version 20 or newer


plugin = Plugin(
    name=NAME,
    summary="Talk on WhatsApp with a personal account. Against WhatsApp's terms: it may be closed.",
    platforms={NAME: "sojourn.platforms.whatsapp_bridge.adapter:WhatsappBridge"},
    sign_ins={NAME: "sojourn.platforms.whatsapp_bridge.sign_in:sign_in"},
    settings=WhatsappBridgeSettings,
)
