"""hermes: a running Hermes answers through its API server; Sojourn keeps the conversation."""

from sojourn.ports.plugin import Plugin
from sojourn.runtimes.hermes.settings import PLUGIN, HermesSettings

plugin = Plugin(
    name=PLUGIN,
    summary="Let a running Hermes answer, with its own tools.",
    runtimes={"hermes": "sojourn.runtimes.hermes.runtime:make"},
    settings=HermesSettings,
)
