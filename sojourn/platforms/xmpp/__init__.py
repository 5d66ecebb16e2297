"""The XMPP plugin: private chats and rooms on any server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "xmpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class XmppSettings:
    """From [plugins.xmpp] and SOJOURN_XMPP_…"""

    jid: Annotated[
        str, Prompt("Address", "The account that Sojourn uses, for example sojourn@example.org; make one of its own.")
    ]
    password: Annotated[Secret, Prompt("Password", "The password of that account.")]
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
