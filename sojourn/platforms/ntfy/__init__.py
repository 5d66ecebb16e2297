"""The ntfy plugin: one topic is one chat."""

from dataclasses import dataclass, field
from typing import Annotated

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin, Prompt

NAME = "ntfy"


@dataclass(frozen=True, slots=True, kw_only=True)
class NtfySettings:
    """From [plugins.ntfy] and SOJOURN_NTFY_…"""

    topic: Annotated[str, Prompt("Topic", "Any name that nobody guesses: whoever knows it can read and write there.")]
    server: Annotated[str, Prompt("Server", "Leave it as it is, unless you run one of your own.")] = "https://ntfy.sh"
    token: Secret = field(default_factory=Secret)


plugin = Plugin(
    name=NAME,
    summary="Talk over an ntfy topic.",
    platforms={NAME: "sojourn.platforms.ntfy.adapter:Ntfy"},
    settings=NtfySettings,
)
