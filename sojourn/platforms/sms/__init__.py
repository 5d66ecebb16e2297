"""The SMS plugin: text messages through a number at Twilio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "sms"
TOKEN_VARIABLE = "SOJOURN_SMS_AUTH_TOKEN"


@dataclass(frozen=True, slots=True, kw_only=True)
class SmsSettings:
    """From [plugins.sms] and SOJOURN_SMS_…"""

    account_sid: Annotated[str, Prompt("Account SID", "console.twilio.com, on the first page. It begins with AC.")]
    auth_token: Annotated[Secret, Prompt("Auth token", "It stands below the Account SID: Show.")]
    public_url: Annotated[str, Prompt("Public address", "Where Twilio reaches Sojourn: https://bot.example.org/sms.")]
    number: Annotated[str, Prompt("Number", "Your Twilio number: +15550001111. Empty with a messaging service.")] = ""
    messaging_service: str = ""  # MG…, instead of a number
    base_url: str = "https://api.twilio.com"
    host: str = "127.0.0.1"
    port: int = 8791


plugin = Plugin(
    name=NAME,
    summary="Talk by text messages (SMS and MMS), through Twilio.",
    platforms={NAME: "sojourn.platforms.sms.adapter:Sms"},
    settings=SmsSettings,
)
