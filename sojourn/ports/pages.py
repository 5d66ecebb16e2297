"""PluginPages: the dashboard plugins of a home, and turning them on and off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

# What a plugin may need, and what agreeing to it means.
NEEDS = {
    "backend": "Runs a program of its own on this machine.",  # needed by every plugin with an `api`
    "sessions:read": "Its page may list and read your sessions.",
    "network": "Its program may reach other machines.",
    "files": "Its program may read and change your files, beyond its own folder.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A plugin's `manifest.json`: the tab of its page, and its program if it has one."""

    name: str
    label: str
    path: str  # of its tab, e.g. /garden
    position: str = "end"  # or after:<page>, before:<page>
    description: str = ""
    icon: str = "Puzzle"
    version: str = "0.0.0"
    entry: str = "dist/index.js"  # files, relative to the folder of the manifest
    css: str = ""
    api: str = ""
    declared: tuple[str, ...] = ()  # `needs` as written

    @property
    def needs(self) -> tuple[str, ...]:
        """What a person agrees to by turning it on."""
        wanted = {*self.declared, *(("backend",) if self.api else ())}
        return tuple(need for need in NEEDS if need in wanted)


class PluginPage(Protocol):
    """A plugin with a dashboard page, and its state."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str:
        """`on`, `off`, `asks` (it needs more than the owner agreed to) or `broken`."""

    @property
    def manifest(self) -> Manifest | None: ...
    @property
    def built_in(self) -> bool: ...
    @property
    def problem(self) -> str: ...
    @property
    def hint(self) -> str: ...


class PluginPages(Protocol):
    """The dashboard plugins of one home."""

    def list_pages(self) -> Sequence[PluginPage]:
        """Every plugin with a manifest, in any state, built-in ones first."""

    def find_page(self, name: str) -> PluginPage:
        """The third-party plugin of that name. NotFound; BadInput for a built-in one."""

    def enable(self, name: str, needs: Sequence[str] | None = None) -> PluginPage:
        """Turns a plugin on. `needs`: what the owner agreed to; Conflict if it needs something else."""

    def disable(self, name: str) -> bool:
        """Turns a plugin off; False if it was off."""
