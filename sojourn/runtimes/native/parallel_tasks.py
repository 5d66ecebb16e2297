"""Parallel tasks: runs independent parts of a request as conversations of their own, at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Message, text_of
from sojourn.ports.runtime import Observation, RuntimeOutput, TurnInput
from sojourn.runtimes.native.loop import AgentLoop
from sojourn.runtimes.native.prompt import build_instructions
from sojourn.runtimes.native.translate import to_model
from sojourn.runtimes.prompt_text import render_context
from sojourn.task_graph import Task, TaskGraph, advance, find_task, list_ready, to_progress_detail
from sojourn.text.codec import encode_value

MAX_PARALLEL = 4  # tasks
NewLoop = Callable[[list[ModelMessage]], AgentLoop]


def is_parallelisable(graph: TaskGraph | None) -> bool:
    """True when the graph allows parallel work and several of its tasks can start now."""
    return graph is not None and graph.parallel and len(list_ready(graph)) > 1


@dataclass
class ParallelTasks:
    """Executes a task graph. Afterwards `graph` holds the outcome of each task."""

    turn: TurnInput
    graph: TaskGraph
    new_loop: NewLoop
    errors: list[SojournError] = field(default_factory=list)

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        """Yields the graph as it changes and the progress of the tasks. Raises only if every task failed."""
        queue: asyncio.Queue[RuntimeOutput | None] = asyncio.Queue()
        running: set[asyncio.Task[None]] = set()
        yield self._to_progress()
        try:
            while True:
                for task in list_ready(self.graph)[: MAX_PARALLEL - len(running)]:
                    self.graph = advance(self.graph, task.id, "running")
                    running.add(asyncio.create_task(self._run_task(task, queue), name=task.id))
                    yield self._to_progress()
                if not running:
                    break
                item = await queue.get()
                if item is None:  # a task has ended
                    over, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for one in over:
                        one.result()
                    yield self._to_progress()
                else:
                    yield item
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if self.errors and not any(task.state == "done" for task in self.graph.tasks):
            raise self.errors[0]
        yield Observation("tasks", {"graph": encode_value(self.graph)})

    def render_results(self) -> str:
        """Renders the outcomes for the request that joins them into one answer."""
        lines = ["# Parts of this request that were worked on at the same time", "Join them into one answer."]
        for task in self.graph.tasks:
            outcome = task.result if task.state == "done" else f"Not done. {task.why}".strip()
            lines.append(f"## {task.title}\n{outcome}")
        return "\n\n".join(lines)

    def _to_progress(self) -> Progress:
        return Progress("task", to_progress_detail(self.graph))

    async def _run_task(self, task: Task, queue: asyncio.Queue[RuntimeOutput | None]) -> None:
        messages: list[Message] = []
        try:
            async with aclosing(self.new_loop(self._build_opening(task)).run()) as items:
                async for item in items:
                    if isinstance(item, Message):
                        messages.append(item)
                    elif isinstance(item, Progress):
                        queue.put_nowait(replace(item, detail={**item.detail, "task": task.id}))
            answers = [text_of(message) for message in messages if message.role == "assistant" and text_of(message)]
            self.graph = advance(self.graph, task.id, "done", result=answers[-1] if answers else "")
        except SojournError as error:
            self.errors.append(error)
            self.graph = advance(self.graph, task.id, "failed", why=str(error))
        finally:
            queue.put_nowait(None)

    def _build_opening(self, task: Task) -> list[ModelMessage]:
        before = [find_task(self.graph, id) for id in task.needs]
        found = "\n\n".join(f"What is known about “{one.title}”:\n{one.result}" for one in before)
        system = "\n\n".join(filter(None, [build_instructions(self.turn), render_context(self.turn.blocks)]))
        parts = [
            f"The request was:\n{self.turn.said}",
            found,
            f"Others work on the other parts. Do only this one, and answer with what you found:\n{task.title}",
        ]
        request = "\n\n".join(filter(None, parts))
        return to_model([Message(role="system", content=system), Message(role="user", content=request)])
