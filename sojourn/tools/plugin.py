"""Plugin of the built-in tools: files, commands, the web, past sessions, memory, skills, sub-agents."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="tools",
    summary="Files, commands, the web, past sessions, memory, skills and sub-agents.",
    tools=("sojourn.tools.registry:build_tools",),
    context=("sojourn.tools.permission_command:PlanNote",),
    chat_commands={
        "permissions": "sojourn.tools.permission_command:run_permissions",
        "tools": "sojourn.tools.tools_command:run_tools",
        "undo": "sojourn.tools.undo_command:run_undo",
    },
    erasers=("sojourn.tools.result_limits:forget_outputs", "sojourn.tools.file_checkpoints:forget_checkpoints"),
)
