"""One turn of the native runtime, from the prepared input to `done`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelMessage

from sojourn.core.events import Done, Progress
from sojourn.core.messages import Json, text_of
from sojourn.core.tasks import TaskGraph, to_json
from sojourn.ports.runtime import Compaction, HistoryEntry, RuntimeOutput, SaveState, TurnInput
from sojourn.runtimes.native.compaction import SUMMARISE, cut, pages, size
from sojourn.runtimes.native.line import Line
from sojourn.runtimes.native.loop import Loop
from sojourn.runtimes.native.prompt import opening
from sojourn.runtimes.native.spending import Spending
from sojourn.runtimes.native.tasks import Tasks, worth_it
from sojourn.runtimes.native.translate import from_response
from sojourn.text.ansi import strip_control


@dataclass
class Turning:
    """What is known while a turn runs."""

    line: Line
    turn: TurnInput
    window: int
    steps: int

    def __post_init__(self) -> None:
        self._spending = Spending(model=self.line.choice.name)
        self._history: tuple[HistoryEntry, ...] = self.turn.history
        self._summary, self._notes = "", list[str]()
        self._graph: TaskGraph | None = self.turn.graph
        self._ratio = _ratio(self.turn.state)

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        self.turn.may_spend(0.0)
        if self._graph is not None and worth_it(self._graph):
            tasks = Tasks(self.turn, self._graph, self._task_loop)
            async with aclosing(tasks.run()) as working:
                async for item in working:
                    yield item
            self._graph = tasks.graph
            self._notes.append(tasks.results())
        loop = self._loop(await self._opening())
        async with aclosing(loop.run()) as talking:
            async for item in talking:
                yield item
        yield SaveState(self._state(loop))
        yield Done(usage=self._spending.as_usage(self.window))

    async def _opening(self) -> list[ModelMessage]:
        turn = replace(self.turn, graph=None) if self._notes else self.turn  # it has been carried out
        told = [past.message for past in self._history]
        return await opening(turn, self.line.choice, told, summary=self._summary, notes=self._notes)

    def _loop(self, told: list[ModelMessage]) -> Loop:
        return Loop(
            self.line,
            self.turn,
            told,
            self._spending,
            window=self.window,
            steps=self.steps,
            make_room=self._make_room,
            ratio=self._ratio,
        )

    def _task_loop(self, told: list[ModelMessage]) -> Loop:
        """A part of the request: it cannot be steered, and has no past to summarise."""
        turn = replace(self.turn, steered=tuple)
        return Loop(self.line, turn, told, self._spending, window=self.window, steps=self.steps, ratio=self._ratio)

    def _state(self, loop: Loop) -> Mapping[str, Json]:
        state: dict[str, Json] = {"model": self._spending.model, "window": self.window, "ratio": round(loop.ratio, 3)}
        if self._graph is not None:
            state["graph"] = to_json(self._graph)
        return state

    # making room
    async def _make_room(self, loop: Loop, leave: float) -> AsyncGenerator[RuntimeOutput, None]:
        """Summarises the oldest part of the conversation; what is left begins with something a person said."""
        found = cut(self._history, int(loop.room * leave / loop.ratio))
        if not found.old:
            return
        before = sum(size(past.message) for past in found.old)
        yield Progress("compaction", {"status": "started", "messages": len(found.old), "tokens": before})
        self._summary = await self._summarised(found.old, int(loop.room * 0.6 / loop.ratio))
        self._history = found.kept
        loop.opening = await self._opening()
        yield Compaction(seqs=tuple(past.seq for past in found.old), summary=self._summary)
        yield Progress("compaction", {"status": "completed", "messages": len(found.old), "left": loop.needed()})

    async def _summarised(self, old: tuple[HistoryEntry, ...], room: int) -> str:
        summary = self._summary
        for page in pages(old, max(200, room)):
            asked = f"Earlier summary:\n{summary}\n\nWhat followed:\n{page}" if summary else page
            response = await self.line.complete(SUMMARISE, asked)
            self._spending.add(response)
            self.turn.may_spend(self._spending.cost_usd or 0.0)
            summary = strip_control(text_of(from_response(response))).strip() or summary
        return summary


def _ratio(state: Mapping[str, Json]) -> float:
    """How this model counted last time."""
    found = state.get("ratio")
    return min(4.0, max(0.5, float(found))) if isinstance(found, int | float) else 1.0
