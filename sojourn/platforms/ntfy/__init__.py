"""The ntfy plugin: one topic is one chat."""

from dataclasses import dataclass, field

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NAME = "ntfy"


@dataclass(frozen=True, slots=True, kw_only=True)
class NtfySettings:
    """From [plugins.ntfy] and SOJOURN_NTFY_…"""

    topic: str
    server: str = "https://ntfy.sh"
    token: Secret = field(default_factory=Secret)


plugin = Plugin(
    name=NAME,
    summary="Talk over an ntfy topic.",
    platforms={NAME: "sojourn.platforms.ntfy.adapter:Ntfy"},
    settings=NtfySettings,
)
