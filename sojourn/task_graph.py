"""Task graph of one request: its tasks, their dependencies and states.

A graph is a value; `advance` returns a new one. `build_graph` rejects too many tasks, unknown needs and cycles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.progress import TaskDetail, TaskEntry

TaskState = Literal["waiting", "running", "done", "failed", "skipped"]
MAX_TASKS = 24  # tasks
_STEPS: Mapping[str, tuple[str, ...]] = {
    "waiting": ("running", "done", "failed", "skipped"),
    "running": ("done", "failed", "skipped", "waiting"),  # waiting again: it was interrupted
    "failed": ("waiting", "running", "skipped"),  # another try
    "skipped": ("waiting",),
    "done": (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. It can run when all it `needs` are done."""

    id: str
    title: str
    needs: tuple[str, ...] = ()
    state: TaskState = "waiting"
    result: str = ""
    why: str = ""  # why it failed or was skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGraph:
    """At most MAX_TASKS tasks. `parallel`: whether running them at once is worth it, `because` says why."""

    tasks: tuple[Task, ...] = ()
    parallel: bool = False
    because: str = ""


def build_graph(tasks: Iterable[Task], *, parallel: bool = False, because: str = "") -> TaskGraph:
    """Builds a valid graph. BadInput names what is wrong."""
    found = tuple(tasks)
    if len(found) > MAX_TASKS:
        raise BadInput(f"{len(found)} tasks are too many.", hint=f"Use at most {MAX_TASKS}; join the small ones.")
    known = {task.id for task in found}
    if len(known) < len(found):
        raise BadInput("Two tasks have the same id.", hint="Give each task an id of its own.")
    for task in found:
        for need in task.needs:
            if need not in known:
                raise BadInput(f'"{task.id}" needs "{need}", which is no task.', hint=f"There are: {', '.join(known)}.")
    try:
        TopologicalSorter({task.id: task.needs for task in found}).prepare()
    except CycleError as error:
        cycle = " → ".join(reversed(error.args[1]))
        raise BadInput(f"These tasks wait for each other: {cycle}.", hint="Remove one of the needs.") from error
    return TaskGraph(tasks=found, parallel=parallel, because=because)


def find_task(graph: TaskGraph, id: str) -> Task:
    for task in graph.tasks:
        if task.id == id:
            return task
    raise NotFound(f'There is no task "{id}".', hint=f"There are: {', '.join(task.id for task in graph.tasks)}.")


def list_ready(graph: TaskGraph) -> tuple[Task, ...]:
    """The tasks that can run now, in order."""
    return tuple(task for task in graph.tasks if not explain_waiting(graph, task.id))


def explain_waiting(graph: TaskGraph, id: str) -> str:
    """Why a task cannot run now, as a sentence; empty if it can."""
    task = find_task(graph, id)
    if task.state == "running":
        return "It is running."
    if task.state in ("done", "skipped", "failed"):
        return f"It is {task.state}{f': {task.why}' if task.why else '.'}"
    for need in (find_task(graph, name) for name in task.needs):
        if need.state in ("failed", "skipped"):
            return f'It needs "{need.title}", which {"failed" if need.state == "failed" else "was skipped"}.'
    waits = [need.title for need in (find_task(graph, name) for name in task.needs) if need.state != "done"]
    return f"It waits for {', '.join(f'“{title}”' for title in waits)}." if waits else ""


def advance(graph: TaskGraph, id: str, state: TaskState, *, result: str = "", why: str = "") -> TaskGraph:
    """The graph after a task changed its state. BadInput for a change that is not allowed."""
    task = find_task(graph, id)
    if state not in _STEPS[task.state]:
        raise BadInput(f'"{id}" is {task.state} and cannot become {state}.', hint="`ready` says what can run.")
    if state == "running" and task.state == "waiting" and (reason := explain_waiting(graph, id)):
        raise BadInput(f'"{id}" cannot run. {reason}', hint="Finish what it needs first.")
    new = replace(task, state=state, result=result, why=why)
    return replace(graph, tasks=tuple(new if one.id == id else one for one in graph.tasks))


def is_over(graph: TaskGraph) -> bool:
    """Whether nothing runs and nothing can run: all is done, or the rest waits for a failed task."""
    return not list_ready(graph) and not any(task.state == "running" for task in graph.tasks)


def to_progress_detail(graph: TaskGraph) -> TaskDetail:
    """The graph as `progress` (stage task) carries it."""
    tasks: list[TaskEntry] = [
        {
            "id": task.id,
            "title": task.title,
            "needs": list(task.needs),
            "state": task.state,
            "why": task.why or ("" if task.state == "done" else explain_waiting(graph, task.id)),
        }
        for task in graph.tasks
    ]
    done = sum(task.state == "done" for task in graph.tasks)
    return {
        "tasks": tasks,
        "ready": [task.id for task in list_ready(graph)],
        "done": done,
        "of": len(tasks),
        "parallel": graph.parallel,
        "because": graph.because,
    }
