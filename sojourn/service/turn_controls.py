"""Turn controls: stop, answer, steer and take-over of a running turn, from any process.

Every control names its turn; one for an earlier turn is ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import aclosing
from dataclasses import replace

from sojourn.core.errors import LeaseLost, NotDriving, StoreUnavailable
from sojourn.core.events import Progress, Yielded
from sojourn.core.messages import Json, user
from sojourn.core.progress import ApprovalDetail, HandoffDetail, QueuedDetail, RunningDetail
from sojourn.core.sessions import Control
from sojourn.ports.service import TurnRequest
from sojourn.ports.store import PendingQuestion
from sojourn.ports.tool import Question, Reply
from sojourn.service.turn_writer import TurnWriter
from sojourn.text.exact import hash_text
from sojourn.turn_support.lasting_approvals import SavedApprovals

_STEERED = json.dumps({"steered": True})
logger = logging.getLogger(__name__)


class TurnControls:
    """Applies the controls of one turn, and asks people for its approvals."""

    def __init__(
        self, writer: TurnWriter, said: TurnRequest, approvals: SavedApprovals, *, timeout_seconds: float
    ) -> None:
        self._writer, self._said, self._approvals, self._timeout_seconds = writer, said, approvals, timeout_seconds
        self._pending: dict[str, asyncio.Future[Reply]] = {}
        self._steered: list[str] = []

    async def listen(self) -> None:
        """Applies controls until a stop arrives. LeaseLost, NotDriving if the session is no longer ours."""
        while True:
            lease = self._writer.lease
            try:
                async with aclosing(self._writer.store.controls(lease)) as controls:
                    async for control in controls:
                        if await self._apply(control) == "stop":
                            return
            except (LeaseLost, NotDriving):
                if self._writer.lease.fence == lease.fence:
                    raise
            except StoreUnavailable as error:
                logger.warning("turn %s receives no controls: %s", self._writer.turn, error)
                await asyncio.sleep(1)

    async def _apply(self, control: Control) -> str:
        payload = control.payload if isinstance(control.payload, dict) else {}
        if payload.get("turn") != self._writer.turn or self._writer.closed:
            return ""
        if control.kind == "answer":
            self._resolve(payload, control.by)
        elif control.kind == "steer":
            self._steered.append(str(payload["text"]))
            self._writer.enqueue(Progress("running", RunningDetail(steer=payload["text"], by=control.by)))
        elif control.kind == "queued":
            self._writer.enqueue(Progress("queued", QueuedDetail(queued=payload["queued"], by=control.by)))
        elif control.kind == "take":
            was = self._writer.lease.surface
            await self._writer.move(str(payload["surface"]))
            self._writer.enqueue(to_driver_changed(was, str(payload["surface"]), control.by))
        return control.kind

    # asking
    async def ask(self, question: Question) -> Reply:
        """Asks a person and waits. Without an answer in time, or with nobody to give one, the reply is `deny`."""
        if known := await self._approvals.find(question):
            return known
        if not self._said.attended:
            return await self._answer_alone(question)
        self._pending[question.id] = asyncio.get_running_loop().create_future()
        await self._show(question)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await self._pending[question.id]
        except TimeoutError:
            reply = Reply(choice="deny", why=f"Nobody answered within {self._timeout_seconds:g} seconds.")
        finally:
            del self._pending[question.id]
        await self._settle(question, reply)
        await self._approvals.save(question, reply)
        return reply

    async def _show(self, question: Question) -> None:
        """Stores the question: redacted in its event, exactly in the pending question."""
        sha256 = hash_text(question.detail)
        pending = PendingQuestion(id=question.id, turn=self._writer.turn, exact=question.detail, sha256=sha256)
        await self._writer.ask(Progress("approval", _to_detail(question, sha256, self._timeout_seconds)), pending)

    async def _settle(self, question: Question, reply: Reply) -> None:
        settled = ApprovalDetail(
            status="answered", question=question.id, tool=question.tool, choice=reply.choice, by=reply.by, why=reply.why
        )
        await self._writer(Progress("approval", settled))

    async def _answer_alone(self, question: Question) -> Reply:
        """The answer where nobody can give one: what was allowed beforehand, inside a complete sandbox; else no."""
        if question.tool not in self._said.allow:
            why = "Nobody can answer here."
        elif question.scope != "sandbox" or question.dangerous:
            why = f"Allowed beforehand is only what stays inside the sandbox. {question.text}"
        else:
            return Reply(choice="once", why="allowed beforehand")
        reply = Reply(choice="deny", why=why)
        await self._settle(question, reply)
        return reply

    def _resolve(self, payload: dict[str, Json], by: str) -> None:
        waiting = self._pending.get(str(payload["question"]))
        if waiting is not None and not waiting.done():
            choice, why = str(payload["choice"]), str(payload.get("why", ""))
            waiting.set_result(Reply(choice=choice, by=by, why=why, covers=payload.get("covers")))

    # steering
    def steered(self) -> tuple[str, ...]:
        """Takes the steering texts received so far and adds them to the transcript."""
        texts, self._steered = tuple(self._steered), []
        for text in texts:
            self._writer.enqueue(replace(user(text), extra=_STEERED))
        return texts

    def unread_steering(self) -> list[Yielded]:
        """Steering that the runtime never took: events, and messages that the next turn reads."""
        events = [Progress("running", RunningDetail(steer=text, heard=False)) for text in self._steered]
        return [*events, *(replace(user(text), extra=_STEERED) for text in self._steered)]


def _to_detail(question: Question, sha256: str, seconds: float) -> ApprovalDetail:
    return {
        "status": "asked",
        "question": question.id,
        "text": question.text,
        "tool": question.tool,
        "detail": question.detail,
        "sha256": sha256,
        "choices": list(question.choices),
        "dangerous": question.dangerous,
        "scope": question.scope,
        "seconds": seconds,
    }


def to_driver_changed(was: str | None, to: str, by: str) -> Progress:
    detail: HandoffDetail = {"from": was or "", "to": to, "by": by}
    return Progress("handoff", detail)
