"""Plugin: the same sessions on several machines, through a folder."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="sync",
    summary="Keeps the same sessions on several machines, through a folder.",
    commands=("sojourn.sync.commands:sync",),
)
