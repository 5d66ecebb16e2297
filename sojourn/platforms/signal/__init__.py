"""The Signal plugin: private chats and groups, through a signal-cli daemon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.ports.plugin import Plugin, Prompt

NAME = "signal"
DAEMON_URL = "http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSettings:
    """From [plugins.signal] and SOJOURN_SIGNAL_…"""

    account: Annotated[
        str,
        Prompt(
            "Account", "The number that your signal-cli daemon is registered or linked with, for example +491234567."
        ),
    ]
    url: Annotated[  # the daemon asks nobody for a password
        str, Prompt("Address of the daemon", "The one that signal-cli was started with: daemon --http …")
    ] = DAEMON_URL
    linked: bool = False  # the account is a person's own: only their “Note to Self” is read


plugin = Plugin(
    name=NAME,
    summary="Talk on Signal, through a signal-cli daemon that you install.",
    platforms={NAME: "sojourn.platforms.signal.adapter:Signal"},
    sign_ins={NAME: "sojourn.platforms.signal.sign_in:sign_in"},
    settings=SignalSettings,
)
