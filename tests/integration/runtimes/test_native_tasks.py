"""Requests of several independent parts."""

import json
from typing import Any

from sojourn.core.errors import RuntimeFailed
from sojourn.ports.runtime import Observation, SaveState
from sojourn.ports.tool import ToolResult
from sojourn.task_graph import Task, build_graph
from sojourn.testing.model_script import Call, ModelRequest, Refuse, Say, Wait
from sojourn.testing.turn_runner import make_tool, make_turn_input, run_turn
from tests.integration.runtimes.native_runtime import native

GRAPH = build_graph(
    [
        Task(id="a", title="Look at the garden"),
        Task(id="b", title="Look at the house"),
        Task(id="c", title="Compare both", needs=("a", "b")),
    ],
    parallel=True,
    because="two places, one comparison",
)
SAID = "Look at garden and house and compare them."


def part(asked: ModelRequest) -> str:
    """Which part a request is about; "" for the one that joins them."""
    said = asked.last_user_text()
    return next((task.id for task in GRAPH.tasks if said.rstrip().endswith(task.title)), "")


def answers(asked: ModelRequest) -> list[Any]:
    said = {"a": "It is green.", "b": "It is white.", "c": "Green and white.", "": "All done."}[part(asked)]
    return [Wait(0.15), Say(said)]


async def test_independent_tasks_run_at_once_and_are_joined():
    async with native(answers) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input(SAID, graph=GRAPH))
    assert {part(asked) for asked in model.asked[:2]} == {"a", "b"}
    assert [part(asked) for asked in model.asked[2:]] == ["c", ""]
    assert "It is green." in model.asked[2].last_user_text()
    joining = model.asked[3].last_user_text()
    assert all(words in joining for words in ("It is green.", "It is white.", "Green and white."))
    assert shown.answers == ["All done."]
    assert shown.text == "All done."


async def test_the_graph_is_shown_as_it_changes():
    async with native(answers) as (runtime, _):
        shown = await run_turn(runtime, make_turn_input(SAID, graph=GRAPH))
    seen = [[task["state"] for task in detail["tasks"]] for detail in shown.progress("task")]
    assert seen[0] == ["waiting"] * 3
    assert ["running", "running", "waiting"] in seen
    assert seen[-1] == ["done"] * 3
    assert shown.of(Observation)[0].kind == "tasks"
    assert [task["state"] for task in shown.of(SaveState)[-1].state["graph"]["tasks"]] == ["done"] * 3


async def test_a_task_uses_tools_and_says_for_which_task():
    async def look(at: Any, given: Any) -> ToolResult:
        return ToolResult(text="green")

    def script(asked: ModelRequest) -> list[Any]:
        if part(asked) == "a" and asked.roles()[-1] != "tool":
            return [Call("look", {"path": "garden"})]
        return [Say("Fine.")]

    async with native(script) as (runtime, _):
        shown = await run_turn(
            runtime, make_turn_input(SAID, graph=GRAPH, tools=(make_tool("look", look, path="where"),))
        )
    assert [detail["task"] for detail in shown.progress("tool")] == ["a", "a"]
    assert [message.role for message in shown.messages] == ["assistant"]


async def test_one_failing_task_leaves_the_others_and_says_why():
    def script(asked: ModelRequest) -> list[Any]:
        return [Refuse(400, "not this one")] if part(asked) == "b" else [Say("Fine.")]

    async with native(script) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input(SAID, graph=GRAPH))
    assert [task["state"] for task in shown.progress("task")[-1]["tasks"]] == ["done", "failed", "waiting"]
    assert "Not done." in model.asked[-1].last_user_text()
    assert shown.error is None


async def test_if_all_fail_the_turn_does():
    async with native([Refuse(400, "no")]) as (runtime, _):
        shown = await run_turn(runtime, make_turn_input(SAID, graph=GRAPH))
    assert isinstance(shown.error, RuntimeFailed)


async def test_a_graph_that_is_not_worth_it_is_only_told():
    graph = build_graph(GRAPH.tasks, parallel=False, because="too small")
    async with native([Say("Fine.")]) as (runtime, model):
        shown = await run_turn(runtime, make_turn_input(SAID, graph=graph))
    assert len(model.asked) == 1
    assert "Look at the garden" in json.dumps(model.asked[0].body)
    assert shown.progress("task") == []
