"""acp: an agent that speaks the Agent Client Protocol over stdio answers; Sojourn keeps the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.ports.plugin import Plugin

PLUGIN = "acp"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcpSettings:
    """The agent to start, and timeouts."""

    command: str = ""  # "hermes acp", "gemini --experimental-acp" …; words are split as a shell does, without one
    name: str = ""  # what the agent is called on screen; else what it calls itself
    start_seconds: float = 60.0  # until it has introduced itself and opened a session
    idle_seconds: float = 600.0  # the longest it may say nothing at all during a turn
    most_seconds: float = 3600.0  # the longest a turn may take
    approval_seconds: float = 50.0  # then we deny; Hermes itself gives up after 60
    guests: bool = False  # whether guests may use it, and with it the tools it has
    agents: Mapping[str, Any] = field(default_factory=dict)  # more agents by name; each is a runtime, `acp-<name>`


plugin = Plugin(
    name=PLUGIN,
    summary="Let any agent that speaks the Agent Client Protocol answer, with its own tools.",
    runtimes={"acp": "sojourn.runtimes.acp.runtime:make"},
    routes=("sojourn.runtimes.acp.routes:router",),
    settings=AcpSettings,
)
