"""offline: the runtime that needs neither an API key nor a network."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="offline",
    summary="Needs no key and no network: rules that use the tools, and a very small model for free text.",
    commands=("sojourn.runtimes.offline.commands:model",),
    runtimes={"offline": "sojourn.runtimes.offline.runtime:make"},
)
