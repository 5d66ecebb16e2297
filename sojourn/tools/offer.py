"""What an agent can do here: files, commands, the web, its own memory."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="tools",
    summary="Files, commands, the web, past sessions, memory, skills and sub-agents.",
    tools=("sojourn.tools.making:make",),
    erasers=("sojourn.tools.results:forget",),
)
