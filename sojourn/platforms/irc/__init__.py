"""The IRC plugin: channels and private chats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class IrcSettings:
    """From [plugins.irc] and SOJOURN_IRC_…"""

    server: Annotated[str, Prompt("Server", "The host name, for example irc.libera.chat.")]
    nick: str = "sojourn"
    port: int = 6697
    tls: bool = True
    password: Secret = field(default_factory=Secret)
    account: str = ""  # with it, the password is for this account (SASL), else for the server
    channels: tuple[str, ...] = ()
    pace_seconds: float = 0.5  # between two lines of a long message: servers disconnect fast writers


plugin = Plugin(
    name="irc",
    summary="Talk on an IRC network, in channels and privately.",
    platforms={"irc": "sojourn.platforms.irc.adapter:Irc"},
    settings=IrcSettings,
)
