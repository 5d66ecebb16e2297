"""acp: an agent that speaks the Agent Client Protocol over stdio answers; Sojourn keeps the conversation."""

from sojourn.ports.plugin import Plugin
from sojourn.runtimes.acp.settings import PLUGIN, AcpSettings

plugin = Plugin(
    name=PLUGIN,
    summary="Let any agent that speaks the Agent Client Protocol answer, with its own tools.",
    runtimes={"acp": "sojourn.runtimes.acp.runtime:make"},
    settings=AcpSettings,
)
