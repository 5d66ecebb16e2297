"""Approvals: puts Hermes' questions to the person; denies those that nobody answers in time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from typing import Any

from sojourn.core.errors import SojournError
from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.ports.runtime import TurnInput
from sojourn.ports.tool import Question
from sojourn.runtimes.hermes.api import HermesApi
from sojourn.runtimes.hermes.run import Event
from sojourn.text.ansi import strip_control

logger = logging.getLogger(__name__)

_CHOICES = ("once", "deny")  # a Hermes runs outside our sandbox: it is asked about every time


class HermesApprovals:
    """The approval requests of one run. Hermes expects answers in order, so one question is put at a time."""

    def __init__(self, api: HermesApi, run_id: str, turn: TurnInput, seconds: float) -> None:
        self._api, self._run_id, self._turn, self._seconds = api, run_id, turn, seconds
        self._tasks: list[asyncio.Task[None]] = []
        self._in_turn = asyncio.Lock()
        self.answers: list[dict[str, Json]] = []  # one per question, for the observation
        self._open: list[tuple[dict[str, Json], asyncio.Task[None]]] = []

    def on_request(self, event: Event) -> None:
        question = _to_question(event, f"{self._run_id}-{len(self.answers) + 1}")
        answer: dict[str, Json] = {"question": question.id, "command": question.detail, "choice": "", "why": ""}
        self._start(answer, self._ask(question, answer, time.monotonic() + self._seconds))

    def deny_lost_request(self) -> None:
        """The approval request was lost on a disconnect; deny it."""
        self._open = [one for one in self._open if not one[1].done()]
        if not self._open:
            answer: dict[str, Json] = {"question": "", "command": "", "choice": "deny", "why": "its question was lost"}
            self._start(answer, self._send("deny"))

    def _start(self, answer: dict[str, Json], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.answers.append(answer)
        self._tasks.append(task)
        self._open.append((answer, task))

    def on_response(self, event: Event) -> Progress | None:
        """Settles Hermes' oldest question; returns its progress, unless the person's own answer was shown."""
        if not self._open:
            return None
        answer, task = self._open.pop(0)
        if not answer["choice"]:  # answered elsewhere first
            task.cancel()
            answer.update(choice=str(event.get("choice") or ""), why="answered in Hermes itself")
        elif not answer["why"]:
            return None
        detail = {name: answer[name] for name in ("question", "choice", "why")}
        return Progress("approval", {"status": "answered", **detail})

    async def _ask(self, question: Question, answer: dict[str, Json], until: float) -> None:
        async with self._in_turn:
            try:
                async with asyncio.timeout(max(until - time.monotonic(), 0)):
                    reply = await self._turn.ask(question)
                answer["choice"] = reply.choice if reply.choice in question.choices else "deny"
            except TimeoutError:
                answer.update(choice="deny", why=f"Nobody answered within {self._seconds:g} seconds.")
            except SojournError as error:
                answer.update(choice="deny", why=str(error))
            await self._send(str(answer["choice"]))

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


def _to_question(event: Event, name: str) -> Question:
    command, why = str(event.get("command") or ""), strip_control(str(event.get("description") or ""))
    offered = event.get("choices")
    choices = tuple(one for one in _CHOICES if one in offered) if isinstance(offered, list) else ("once", "deny")
    return Question(
        id=name,
        text=f"Hermes asks to run a command outside our sandbox{f' ({why})' if why else ''}.",
        tool="terminal",
        detail=command,
        choices=choices if "deny" in choices else (*choices, "deny"),
        dangerous=True,
        scope="outside",
    )
