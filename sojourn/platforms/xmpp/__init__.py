"""The XMPP plugin: private chats and rooms on any server."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "xmpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class XmppSettings:
    """From [plugins.xmpp] and SOJOURN_XMPP_…"""

    jid: str  # name@server
    password: Secret
    host: str = ""  # with `port`, where to connect; otherwise the server's DNS records say it
    port: int = 5222
    tls: bool = True  # without it, everything is sent in clear text
    nick: str = "sojourn"  # in rooms
    rooms: tuple[str, ...] = ()
    join: bool = False  # accept invitations to rooms
    file_hosts: tuple[str, ...] = ()  # hosts besides the account's own server from which files are downloaded


plugin = Plugin(
    name=NAME,
    summary="Talk over XMPP (Jabber), privately and in rooms.",
    platforms={NAME: "sojourn.platforms.xmpp.adapter:Xmpp"},
    settings=XmppSettings,
)
