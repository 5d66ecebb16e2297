"""The plugins `memory`, `skills` and `tasks`."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

memory = Plugin(
    name="memory",
    summary="Facts, notes, summaries and what past sessions said.",
    context=(
        "sojourn.context.summary:ConversationSummary",
        "sojourn.context.recall:Recall",
        "sojourn.context.facts:UserMemory",
        "sojourn.context.notes:NoteSource",
        "sojourn.context.project_notes:ProjectNotesSource",
    ),
    routes=("sojourn.context.memory_api:router", "sojourn.context.embeddings_api:router"),
    chat_commands={"compact": "sojourn.context.compact_command:run_compact"},
    commands=("sojourn.context.memory_commands:memory", "sojourn.context.ask_commands:ask"),
)

skills = Plugin(
    name="skills",
    summary="The few skills a request calls for.",
    context=("sojourn.context.skills:SkillSource",),
    routes=("sojourn.context.skills_api:router",),
    commands=("sojourn.context.skills_commands:skills",),
)

tasks = Plugin(
    name="tasks", summary="The steps of a request, as a graph.", context=("sojourn.context.tasks:TaskSource",)
)
