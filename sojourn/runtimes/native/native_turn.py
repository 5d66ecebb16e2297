"""One turn of the native runtime, from the prepared input to `done`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage

from sojourn.core.events import Done, Progress
from sojourn.core.messages import Json, text_of
from sojourn.core.progress import CompactionDetail
from sojourn.ports.runtime import Compaction, HistoryEntry, RuntimeOutput, SaveState, TurnInput
from sojourn.runtimes.native.compaction import SUMMARISE, message_tokens, split_history, to_pages
from sojourn.runtimes.native.loop import AgentLoop, limit_ratio
from sojourn.runtimes.native.model_client import ModelClient
from sojourn.runtimes.native.parallel_tasks import ParallelTasks, is_parallelisable
from sojourn.runtimes.native.prompt import build_opening
from sojourn.runtimes.native.translate import from_response
from sojourn.runtimes.native.usage import UsageTotals
from sojourn.task_graph import TaskGraph
from sojourn.text.codec import encode_value


@dataclass
class NativeTurn:
    """State of one running turn: history, summary, task graph, usage."""

    client: ModelClient
    turn: TurnInput
    window: int
    steps: int
    parallel_calls: int

    def __post_init__(self) -> None:
        self._usage = UsageTotals(model=self.client.choice.name)
        self._history: tuple[HistoryEntry, ...] = self.turn.history
        self._summary, self._notes = "", list[str]()
        self._graph: TaskGraph | None = self.turn.graph
        measured = self.turn.state.get("ratio")  # by the last turn
        self._ratio = limit_ratio(float(measured)) if isinstance(measured, int | float) else 1.0

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        self.turn.may_spend(0.0)
        if self._graph is not None and is_parallelisable(self._graph):
            tasks = ParallelTasks(self.turn, self._graph, self._new_task_loop)
            async with aclosing(tasks.run()) as items:
                async for item in items:
                    yield item
            self._graph = tasks.graph
            self._notes.append(tasks.render_results())
        loop = self._new_loop(await self._build_opening())
        async with aclosing(loop.run()) as items:
            async for item in items:
                yield item
        yield SaveState(self._state_to_save(loop))
        yield Done(usage=self._usage.to_usage(self.window))

    async def _build_opening(self) -> list[ModelMessage]:
        graph = None if self._notes else self.turn.graph  # with notes the tasks are done
        turn = replace(self.turn, graph=graph, history=self._history)
        return await build_opening(turn, self.client.choice, summary=self._summary, notes=self._notes)

    def _new_loop(self, opening: list[ModelMessage]) -> AgentLoop:
        return AgentLoop(
            client=self.client,
            turn=self.turn,
            opening=opening,
            usage=self._usage,
            window=self.window,
            steps=self.steps,
            parallel_calls=self.parallel_calls,
            ratio=self._ratio,
            make_room=self._make_room,
        )

    def _new_task_loop(self, opening: list[ModelMessage]) -> AgentLoop:
        """A loop for one task of the request: it cannot be steered, and has no history to summarise."""
        return replace(self._new_loop(opening), turn=replace(self.turn, steered=tuple), make_room=None)

    def _state_to_save(self, loop: AgentLoop) -> Mapping[str, Json]:
        state: dict[str, Json] = {"model": self._usage.model, "window": self.window, "ratio": round(loop.ratio, 3)}
        if self._graph is not None:
            state["graph"] = encode_value(self._graph)
        return state

    # making room
    async def _make_room(self, loop: AgentLoop, leave: float) -> AsyncGenerator[RuntimeOutput, None]:
        """Summarises the oldest part of the conversation; the rest begins with a message of the person.

        The context of earlier messages goes first; no more goes if that is enough.
        """
        if any(past.blocks for past in self._history):
            self._history = tuple(replace(past, blocks=()) for past in self._history)
            loop.opening = await self._build_opening()
            if loop.has_room(leave):
                return
        old, newest = split_history(self._history, int(loop.room * leave / loop.ratio))
        if not old:
            return
        before = sum(message_tokens(past.message) for past in old)
        yield Progress("compaction", CompactionDetail(status="started", messages=len(old), tokens=before))
        self._summary = await self._summarise(old, int(loop.room * 0.6 / loop.ratio))
        self._history = newest
        loop.opening = await self._build_opening()
        yield Compaction(seqs=tuple(past.seq for past in old), summary=self._summary)
        yield Progress("compaction", CompactionDetail(status="completed", messages=len(old), left=loop.tokens_needed()))

    async def _summarise(self, old: tuple[HistoryEntry, ...], room: int) -> str:
        summary = self._summary
        for page in to_pages(old, max(200, room)):
            prompt = f"Earlier summary:\n{summary}\n\nWhat followed:\n{page}" if summary else page
            response = await self.client.complete(SUMMARISE, prompt)
            self._usage.add(response)
            self.turn.may_spend(self._usage.cost_usd or 0.0)
            summary = text_of(from_response(response)).strip() or summary
        return summary
