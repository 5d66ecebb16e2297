"""Hermes asks before it runs something dangerous; the person answers, or nobody does and it is a no."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.plain import plain
from sojourn.ports.runtime import TurnInput
from sojourn.ports.tool import Question
from sojourn.runtimes.hermes.api import HermesApi
from sojourn.runtimes.hermes.run import Event

logger = logging.getLogger(__name__)

_CHOICES = ("once", "session", "always", "deny")


class HermesApprovals:
    """The questions of one run. Hermes takes answers in the order it asked, so one is put at a time."""

    def __init__(self, api: HermesApi, run_id: str, turn: TurnInput, seconds: float) -> None:
        self._api, self._run_id, self._turn, self._seconds = api, run_id, turn, seconds
        self._tasks: list[asyncio.Task[None]] = []
        self._in_turn = asyncio.Lock()
        self.kept: list[dict[str, Json]] = []  # one for each question, as it is remembered
        self._open: list[tuple[dict[str, Json], asyncio.Task[None]]] = []

    def asked(self, event: Event) -> None:
        question = _question(event, f"{self._run_id}-{len(self.kept) + 1}")
        kept: dict[str, Json] = {"question": question.id, "command": question.detail, "choice": "", "why": ""}
        self._begin(kept, self._ask(question, kept, time.monotonic() + self._seconds))

    def lost(self) -> None:
        """Hermes waits for an answer, but its question went by on a line that broke: what nobody saw is denied."""
        self._open = [one for one in self._open if not one[1].done()]
        if not self._open:
            kept: dict[str, Json] = {"question": "", "command": "", "choice": "deny", "why": "its question was lost"}
            self._begin(kept, self._send("deny"))

    def _begin(self, kept: dict[str, Json], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.kept.append(kept)
        self._tasks.append(task)
        self._open.append((kept, task))

    def answered(self, event: Event) -> Progress | None:
        """Hermes has an answer to its oldest question. What the person said was shown already; the rest is told."""
        if not self._open:
            return None
        kept, task = self._open.pop(0)
        if not kept["choice"]:  # somebody was faster than our person
            task.cancel()
            kept.update(choice=str(event.get("choice") or ""), why="answered in Hermes itself")
        elif not kept["why"]:
            return None
        shown = {name: kept[name] for name in ("question", "choice", "why")}
        return Progress("approval", {"status": "answered", **shown})

    async def _ask(self, question: Question, kept: dict[str, Json], until: float) -> None:
        async with self._in_turn:
            try:
                async with asyncio.timeout(max(until - time.monotonic(), 0)):
                    reply = await self._turn.ask(question)
                kept["choice"] = reply.choice if reply.choice in question.choices else "deny"
            except TimeoutError:
                kept.update(choice="deny", why=f"Nobody answered within {self._seconds:g} seconds.")
            except SojournError as error:
                kept.update(choice="deny", why=str(error))
            await self._send(str(kept["choice"]))

    async def _send(self, choice: str) -> None:
        try:
            await self._api.approve(self._run_id, choice)
        except SojournError as error:  # answered elsewhere, or over; unanswered, Hermes itself denies in the end
            logger.warning("the answer %s did not reach run %s: %s", choice, self._run_id, error)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


def _question(event: Event, name: str) -> Question:
    command, why = plain(str(event.get("command") or "")), plain(str(event.get("description") or ""))
    offered = event.get("choices")
    choices = tuple(one for one in _CHOICES if one in offered) if isinstance(offered, list) else ("once", "deny")
    return Question(
        id=name,
        text=f"Hermes wants to run a command{f' ({why})' if why else ''}.",
        tool="terminal",
        detail=command,
        choices=choices if "deny" in choices else (*choices, "deny"),
        dangerous=True,
    )
