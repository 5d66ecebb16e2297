"""native: our agent loop. The agent library behind it is loaded when the first turn needs it."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="native",
    summary="Our own agent, on OpenAI-compatible servers, Anthropic, Google and models on this machine.",
    runtimes={"native": "sojourn.runtimes.native.runtime:make"},
)
