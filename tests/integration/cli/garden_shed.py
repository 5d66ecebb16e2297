"""A foreign plugin for tests that does nothing but have settings, one of each kind."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.settings import Secret
from sojourn.ports.plugin import Plugin

NO_TOKEN = Secret("")


@dataclass(frozen=True)
class GardenShedSettings:
    shelves: int = 2
    token: Secret = NO_TOKEN
    open: bool = False
    tools: tuple[str, ...] = ()
    beds: Mapping[str, Any] = field(default_factory=dict)


plugin = Plugin(name="garden-shed", summary="A shed.", settings=GardenShedSettings)
