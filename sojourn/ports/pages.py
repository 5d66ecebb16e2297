"""PluginPages: dashboard plugins, listed, turned on and turned off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sojourn.core.plugin_manifest import Manifest


class PluginPage(Protocol):
    """A plugin with a dashboard page, and its state."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str:
        """`on`, `off`, `asks` (it needs more than the owner agreed to) or `broken`."""
        ...

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
        """Every plugin with a manifest, built-in ones first, in whatever state it is."""
        ...

    def find_page(self, name: str) -> PluginPage:
        """The third-party plugin of that name. Raises NotFound; BadInput for a built-in one."""
        ...

    def enable(self, name: str, needs: Sequence[str] | None = None) -> PluginPage:
        """Turns a plugin on. `needs`: what its owner agreed to; raises Conflict if the plugin needs something else."""
        ...

    def disable(self, name: str) -> bool:
        """Turns a plugin off and tells whether it was on."""
        ...
