"""A request of several independent parts: each a small conversation of its own, at once, then joined."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Message, text_of
from sojourn.core.tasks import Task, TaskGraph, advance, find_task, list_ready, to_json, to_progress_detail
from sojourn.ports.runtime import Observation, RuntimeOutput, TurnInput
from sojourn.runtimes.native.loop import Loop
from sojourn.runtimes.native.prompt import instructions
from sojourn.runtimes.native.translate import to_model
from sojourn.runtimes.telling import context_text

AT_ONCE = 4
NewLoop = Callable[[list[ModelMessage]], Loop]


def worth_it(graph: TaskGraph | None) -> bool:
    """Whether the graph was judged so, and there is something to do at the same time."""
    return graph is not None and graph.parallel and len(list_ready(graph)) > 1


@dataclass
class Tasks:
    """Carries a graph out. Afterwards `graph` says what became of each task."""

    turn: TurnInput
    graph: TaskGraph
    new_loop: NewLoop
    errors: list[SojournError] = field(default_factory=list)

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        """Shows the graph as it changes, and what the tasks do. Raises only if not one task could be done."""
        told: asyncio.Queue[RuntimeOutput | None] = asyncio.Queue()
        running: set[asyncio.Task[None]] = set()
        yield self._shown()
        try:
            while True:
                for task in list_ready(self.graph)[: AT_ONCE - len(running)]:
                    self.graph = advance(self.graph, task.id, "running")
                    running.add(asyncio.create_task(self._one(task, told), name=task.id))
                    yield self._shown()
                if not running:
                    break
                item = await told.get()
                if item is None:  # one of them is over
                    over, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for one in over:
                        one.result()
                    yield self._shown()
                else:
                    yield item
        finally:
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if self.errors and not any(task.state == "done" for task in self.graph.tasks):
            raise self.errors[0]
        yield Observation("tasks", {"graph": to_json(self.graph)})

    def results(self) -> str:
        """What the tasks found, for the one who joins it."""
        lines = ["# Parts of this request that were worked on at the same time", "Join them into one answer."]
        for task in self.graph.tasks:
            outcome = task.result if task.state == "done" else f"Not done. {task.why}".strip()
            lines.append(f"## {task.title}\n{outcome}")
        return "\n\n".join(lines)

    def _shown(self) -> Progress:
        return Progress("task", to_progress_detail(self.graph))

    async def _one(self, task: Task, told: asyncio.Queue[RuntimeOutput | None]) -> None:
        kept: list[Message] = []
        try:
            async with aclosing(self.new_loop(self._opening(task)).run()) as items:
                async for item in items:
                    if isinstance(item, Message):
                        kept.append(item)
                    elif isinstance(item, Progress):
                        told.put_nowait(replace(item, detail={**item.detail, "task": task.id}))
            said = [text_of(message) for message in kept if message.role == "assistant" and text_of(message)]
            self.graph = advance(self.graph, task.id, "done", result=said[-1] if said else "")
        except SojournError as error:
            self.errors.append(error)
            self.graph = advance(self.graph, task.id, "failed", why=str(error))
        finally:
            told.put_nowait(None)

    def _opening(self, task: Task) -> list[ModelMessage]:
        before = [find_task(self.graph, id) for id in task.needs]
        found = "\n\n".join(f"What is known about “{one.title}”:\n{one.result}" for one in before)
        system = "\n\n".join(filter(None, [instructions(self.turn), context_text(self.turn.blocks)]))
        asked = "\n\n".join(
            filter(
                None,
                [
                    f"Somebody asked:\n{self.turn.said}",
                    found,
                    f"Others work on the other parts. Do only this one, and answer with what you found:\n{task.title}",
                ],
            )
        )
        return to_model([Message(role="system", content=system), Message(role="user", content=asked)])
