"""The Signal plugin: private chats and groups, through a signal-cli daemon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sojourn.ports.plugin import Plugin, Prompt

NAME = "signal"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSettings:
    """From [plugins.signal] and SOJOURN_SIGNAL_…"""

    account: Annotated[str, Prompt("Account", "The number that signal-cli is registered or linked with: +491234567.")]
    # The daemon asks nobody for a password.
    url: Annotated[str, Prompt("Address", "Where signal-cli was started: daemon --http …")] = "http://127.0.0.1:8080"
    linked: bool = False  # the account is a person's own: only their “Note to Self” is read


plugin = Plugin(
    name=NAME,
    summary="Talk on Signal, through a signal-cli daemon that you install.",
    platforms={NAME: "sojourn.platforms.signal.adapter:Signal"},
    settings=SignalSettings,
)
