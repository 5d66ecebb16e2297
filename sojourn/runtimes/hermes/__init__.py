"""hermes: a running Hermes answers through its API server; Sojourn keeps the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NO_KEY = Secret("")
PLUGIN = "hermes-runtime"


@dataclass(frozen=True, slots=True, kw_only=True)
class HermesSettings:
    """Address and key of Hermes' API server, and timeouts."""

    url: str = "http://127.0.0.1:8642"
    api_key: Secret = NO_KEY  # Hermes' API_SERVER_KEY
    idle_seconds: float = 90.0  # a stream without even a keep-alive (Hermes sends one every 30 s) counts as lost
    patience_seconds: float = 30.0  # how long to poll an unreachable Hermes while a run is active
    most_seconds: float = 3600.0  # the longest a turn may take
    approval_seconds: float = 50.0  # then we deny; Hermes itself gives up after 60
    guests: bool = False  # whether guests may use it, and with it the tools it has


plugin = Plugin(
    name=PLUGIN,
    summary="Let a running Hermes answer, with its own tools.",
    runtimes={"hermes": "sojourn.runtimes.hermes.runtime:make"},
    settings=HermesSettings,
)
