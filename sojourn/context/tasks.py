"""Task graph: built from the steps of a request, saved with the session, resumed by "continue"."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import get_args

from sojourn.context.budget import to_contribution
from sojourn.context.steps import RequestStep, parse_steps
from sojourn.core.errors import BadInput
from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextBlock, ContextContribution, ContextRequest, Stage
from sojourn.ports.store import Record
from sojourn.task_graph import (
    MAX_TASKS,
    Task,
    TaskGraph,
    TaskState,
    advance,
    build_graph,
    is_over,
    list_ready,
    to_progress_detail,
)
from sojourn.text.codec import decode_value, encode_value

KIND = "tasks"
MAX_CONTINUE_CHARS = 200  # a request to go on is short
_CONTINUES = re.compile(
    r"\W*(?:(?:ok(?:ay)?|yes|please|great|good)\W+)*"
    r"(?:continue|go on|carry on|keep going|proceed|resume|next(?: (?:step|one|task))?|the rest|finish (?:it|the rest)"
    r"|继续|接着(?:来|做|干)?|下一步|往下)(?:\s+(?:please|with (?:it|the rest|the next one|that)))?\W*",
    re.IGNORECASE,
)


class TaskSource:
    """Context source: a new graph for a request of several steps; the unfinished graph for "continue"."""

    name = "tasks"
    stage: Stage = "tasks"

    def __init__(self, app: HasStore) -> None:
        self._app = app
        self._working = set[SessionId]()  # whose turn works on a graph

    async def contribute(self, request: ContextRequest) -> ContextContribution:
        continues = _CONTINUES.fullmatch(request.said[:MAX_CONTINUE_CHARS]) is not None
        graph = await self._find_unfinished(request) if continues else graph_from_request(request.said)
        if graph is None:
            return ContextContribution()
        await self._save(request.session, graph)
        self._working.add(request.session.id)
        reason = "you asked to continue; these steps are left" if continues else "the request has several steps"
        block = ContextBlock(
            kind=KIND,
            title="The steps of this request",
            text=render_graph(graph),
            origin=f"session {request.session.id}",
            reason=reason,
        )
        contribution = to_contribution([block], request.budget)
        progress = Progress("task", to_progress_detail(graph))
        return replace(contribution, graph=graph, shown=(progress, *contribution.shown))

    async def after(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None:
        """Saves the outcome of the tasks, if the turn had any."""
        if request.session.id not in self._working:
            return
        self._working.discard(request.session.id)
        record = await self._app.store.get_record(KIND, request.session.id)
        graph = await self._current_graph(record)
        if record is not None and graph is not None and graph != decode_graph(record):
            await self._app.store.put_record(
                replace(record, value={**record.value, **encode_value(graph)}), expect=record.revision
            )

    async def _find_unfinished(self, request: ContextRequest) -> TaskGraph | None:
        graph = await self._current_graph(await self._app.store.get_record(KIND, request.session.id))
        if graph is None:
            return None
        for task in graph.tasks:  # interrupted and failed tasks are retried
            if task.state in ("running", "failed"):
                graph = advance(graph, task.id, "waiting")
        return None if is_over(graph) else graph

    async def _save(self, session: Session, graph: TaskGraph) -> None:
        """Saves a graph, with the number in the session's log after which the turn that works on it begins."""
        value = {**encode_value(graph), "after": session.last_seq}
        await self._app.store.put_record(
            Record(kind=KIND, key=session.id, value=value, principal=session.principal, session=session.id)
        )

    async def _current_graph(self, record: Record | None) -> TaskGraph | None:
        """Returns the graph as its turn left it. A completed turn without task progress did all tasks at once."""
        graph = decode_graph(record)
        if record is None or graph is None or record.session is None:
            return None
        states: dict[str, TaskState] = {}
        status = ""
        async with aclosing(self._app.store.read(record.session, after=int(record.value.get("after") or 0))) as log:
            async for kept in log:
                if isinstance(kept.item, Progress) and kept.item.stage == "task":
                    states |= _parse_states(kept.item)
                elif isinstance(kept.item, Done):
                    status = kept.item.status
                    break
        has_progress = any(state in ("running", "failed") for state in states.values()) or any(
            states.get(task.id) == "done" != task.state for task in graph.tasks
        )
        if status == "completed" and not has_progress:
            states = {task.id: "done" for task in graph.tasks}
        return _apply_states(graph, states)


def _parse_states(progress: Progress) -> dict[str, TaskState]:
    entries = progress.detail.get("tasks") or ()
    return {str(one.get("id")): one["state"] for one in entries if one.get("state") in get_args(TaskState)}


def _apply_states(graph: TaskGraph, states: Mapping[str, TaskState]) -> TaskGraph:
    """Returns the graph with these states; a done task stays done."""
    tasks = [
        replace(task, state=states[task.id]) if task.state != "done" and task.id in states else task
        for task in graph.tasks
    ]
    return replace(graph, tasks=tuple(tasks))


def graph_from_request(request: str) -> TaskGraph | None:
    """Builds the graph of a request; None for a single step."""
    steps = parse_steps(request)
    if len(steps) < 2:
        return None
    tasks = _to_tasks(steps)
    parallel, because = judge_parallelism(tasks)
    return build_graph(tasks, parallel=parallel, because=because)


def _to_tasks(found: Sequence[RequestStep]) -> list[Task]:
    """Converts steps to tasks; merges those beyond the limit into one last task."""
    kept = list(found[:MAX_TASKS])
    if len(found) > MAX_TASKS:
        rest = [step.title for step in found[MAX_TASKS - 1 :]]
        kept[-1] = RequestStep(f"And {len(rest)} more: {'; '.join(rest)[:400]}", after=True, last=True)
    ids = [f"t{number}" for number in range(1, len(kept) + 1)]
    tasks: list[Task] = []
    for number, step in enumerate(kept):
        before = (
            ids[:number]
            if step.last or (step.after and not kept[number - 1].after)
            else ids[max(0, number - 1) : number]
        )
        tasks.append(Task(id=ids[number], title=step.title, needs=tuple(before) if step.after or step.last else ()))
    return tasks


def judge_parallelism(tasks: Sequence[Task]) -> tuple[bool, str]:
    """Returns whether parallel work is worth it, and why."""
    free = len(list_ready(build_graph(tasks)))
    if free < 2:
        return False, "Each step needs the one before it."
    if all(len(task.title) < 24 for task in tasks) and len(tasks) < 3:
        return False, "Two small steps are done sooner one after the other."
    return True, f"{free} of {len(tasks)} steps need nothing from each other."


def render_graph(graph: TaskGraph) -> str:
    together = "Steps that need nothing may be done at the same time." if graph.parallel else "One after the other."
    lines = [
        f"{task.id} [{task.state}] {task.title}" + (f" (after {', '.join(task.needs)})" if task.needs else "")
        for task in graph.tasks
    ]
    return "\n".join([f"{together} {graph.because}", *lines])


def decode_graph(record: Record | None) -> TaskGraph | None:
    """Decodes a stored graph; None for one of another version, so that the next request builds a new one."""
    try:
        graph = decode_value(TaskGraph, record.value) if record else None
        if graph is None or any(task.state not in get_args(TaskState) for task in graph.tasks):
            return None
        return build_graph(graph.tasks, parallel=graph.parallel, because=graph.because)
    except (AttributeError, BadInput, KeyError, TypeError, ValueError):
        return None
