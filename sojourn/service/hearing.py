"""What people say to a running turn, from any process: stop, an answer, a word in between, a hand on the wheel.

Each word names the turn it is meant for; one that was meant for an earlier turn is not heard by a later one.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from dataclasses import replace

from sojourn.core.errors import LeaseLost, NotDriving, StoreUnavailable
from sojourn.core.events import Progress
from sojourn.core.messages import Json, user
from sojourn.core.sessions import Control
from sojourn.ports.tool import Question, Reply
from sojourn.service.approvals import Approvals
from sojourn.service.log import Pen

logger = logging.getLogger(__name__)


class Hearing:
    """The ears of one turn; also how it asks."""

    def __init__(self, pen: Pen, approvals: Approvals, *, patience: float) -> None:
        self._pen, self._approvals, self._patience = pen, approvals, patience
        self._asked: dict[str, asyncio.Future[Reply]] = {}
        self._steered: list[str] = []

    async def listen(self) -> None:
        """Ends when the turn shall stop; raises when the session is no longer ours."""
        while True:
            lease = self._pen.lease
            try:
                async with aclosing(self._pen.store.controls(lease)) as controls:
                    async for control in controls:
                        if await self._hear(control) == "stop":
                            return
            except (LeaseLost, NotDriving):
                if self._pen.lease.fence == lease.fence:
                    raise
            except StoreUnavailable as error:
                logger.warning("turn %s hears nothing: %s", self._pen.turn, error)
                await asyncio.sleep(1)

    async def _hear(self, control: Control) -> str:
        word = control.payload if isinstance(control.payload, dict) else {}
        if word.get("turn") != self._pen.turn or self._pen.closed:
            return ""
        if control.kind == "answer":
            self._answered(word, control.by)
        elif control.kind == "steer":
            self._steered.append(str(word["text"]))
            self._pen.soon(Progress("running", {"steer": word["text"], "by": control.by}))
        elif control.kind == "queued":
            self._pen.soon(Progress("queued", {"queued": word["queued"], "by": control.by}))
        elif control.kind == "take":
            was = self._pen.lease.surface
            await self._pen.move(str(word["surface"]))
            self._pen.soon(handed_over(was, str(word["surface"]), control.by))
        return control.kind

    # asking
    async def ask(self, question: Question) -> Reply:
        """Waits for a person. No answer in time is a no, and says so."""
        if known := await self._approvals.known(question):
            return known
        self._asked[question.id] = asyncio.get_running_loop().create_future()
        await self._pen(Progress("approval", _asked(question, self._patience)))
        try:
            async with asyncio.timeout(self._patience):
                reply = await self._asked[question.id]
        except TimeoutError:
            reply = Reply(choice="deny", why=f"Nobody answered within {self._patience:g} seconds.")
        finally:
            del self._asked[question.id]
        settled = {"question": question.id, "choice": reply.choice, "by": reply.by, "why": reply.why}
        await self._pen(Progress("approval", {"status": "answered", **settled}))
        await self._approvals.keep(question, reply)
        return reply

    def _answered(self, word: dict[str, Json], by: str) -> None:
        waiting = self._asked.get(str(word["question"]))
        if waiting is not None and not waiting.done():
            waiting.set_result(Reply(choice=str(word["choice"]), by=by, why=str(word.get("why", ""))))

    # words in between
    def steered(self) -> tuple[str, ...]:
        """What was said meanwhile, each once. From now on it is part of the transcript."""
        heard, self._steered = tuple(self._steered), []
        for text in heard:
            self._pen.soon(replace(user(text), extra=json.dumps({"steered": True})))
        return heard

    def unheard(self) -> list[Progress]:
        """What the runtime never asked for: told, so that a surface can say it again."""
        return [Progress("running", {"steer": text, "heard": False}) for text in self._steered]


def _asked(question: Question, seconds: float) -> dict[str, Json]:
    return {
        "status": "asked",
        "question": question.id,
        "text": question.text,
        "tool": question.tool,
        "detail": question.detail,
        "choices": list(question.choices),
        "dangerous": question.dangerous,
        "seconds": seconds,
    }


def handed_over(was: str | None, to: str, by: str) -> Progress:
    return Progress("handoff", {"from": was or "", "to": to, "by": by})
