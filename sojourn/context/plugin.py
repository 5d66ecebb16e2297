"""The plugins `memory`, `skills` and `tasks`."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

memory = Plugin(
    name="memory",
    summary="Facts, notes, summaries and what past sessions said.",
    context=(
        "sojourn.context.summary:make",
        "sojourn.context.recall:make",
        "sojourn.context.facts:make",
        "sojourn.context.notes:make",
    ),
    routes=("sojourn.context.memory_api:router",),
    commands=("sojourn.context.memory_commands:memory",),
)

skills = Plugin(
    name="skills",
    summary="The few skills a request calls for.",
    context=("sojourn.context.skills:make",),
    routes=("sojourn.context.skills_api:router",),
    commands=("sojourn.context.skills_commands:skills",),
)

tasks = Plugin(name="tasks", summary="The steps of a request, as a graph.", context=("sojourn.context.tasks:make",))
