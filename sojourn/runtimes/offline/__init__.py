"""offline: the helper that needs neither a key nor a network."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="offline",
    summary="Needs no key and no network: rules that use the tools, and a very small model for free text.",
    runtimes={"offline": "sojourn.runtimes.offline.runtime:make"},
    tools=("sojourn.runtimes.offline.session_list_tool:make",),
)
