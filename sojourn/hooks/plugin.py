"""Plugin: answers the questions of agents that others started. Light to import: its parts load the rest."""

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="hooks",
    summary="Brings the questions of other agents here, and your answers there.",
    commands=("sojourn.hooks.commands:hooks",),
    routes=("sojourn.hooks.routes:router",),
    runtimes={"hooks": "sojourn.hooks.question_runtime:QuestionRuntime"},
)
