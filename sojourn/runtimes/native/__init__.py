"""native: Sojourn's own agent loop. The agent library and one provider's SDK are loaded by the first turn."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="native",
    summary="Our own agent, on OpenAI-compatible servers, Anthropic, Google and models on this machine.",
    runtimes={"native": "sojourn.runtimes.native.runtime:make"},
)
