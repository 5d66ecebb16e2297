"""Model selection: from the settings or from servers on this machine. No module here imports the agent library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.ports.plugin import Plugin

PLUGIN = "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedProviders:
    """Keys and addresses by provider, as tables `[plugins.models.providers.<name>]`."""

    providers: Mapping[str, Any] = field(default_factory=dict)


plugin = Plugin(
    name=PLUGIN,
    summary="Connects providers of models: key, address, list of models, a test, the default.",
    routes=("sojourn.runtimes.models.routes:router",),
    settings=SavedProviders,
)
