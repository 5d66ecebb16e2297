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
from sojourn.core.events import Progress
from sojourn.core.messages import Json, user
from sojourn.core.progress import ApprovalDetail, HandoffDetail, QueuedDetail, RunningDetail
from sojourn.core.sessions import OWNER, Control, Principal, SessionId
from sojourn.ports.store import Record, RecordStore
from sojourn.ports.tool import Question, Reply
from sojourn.service.turn_writer import TurnWriter

_APPROVAL_KIND = "approval"

logger = logging.getLogger(__name__)


class TurnControls:
    """Applies the controls of one turn, and asks people for its approvals."""

    def __init__(self, writer: TurnWriter, approvals: SavedApprovals, *, timeout_seconds: float) -> None:
        self._writer, self._approvals, self._timeout_seconds = writer, approvals, timeout_seconds
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
        """Asks a person and waits. Without an answer in time the reply is `deny`."""
        if known := await self._approvals.find(question):
            return known
        self._pending[question.id] = asyncio.get_running_loop().create_future()
        await self._writer(Progress("approval", _to_detail(question, self._timeout_seconds)))
        try:
            async with asyncio.timeout(self._timeout_seconds):
                reply = await self._pending[question.id]
        except TimeoutError:
            reply = Reply(choice="deny", why=f"Nobody answered within {self._timeout_seconds:g} seconds.")
        finally:
            del self._pending[question.id]
        settled = ApprovalDetail(
            status="answered", question=question.id, choice=reply.choice, by=reply.by, why=reply.why
        )
        await self._writer(Progress("approval", settled))
        await self._approvals.save(question, reply)
        return reply

    def _resolve(self, payload: dict[str, Json], by: str) -> None:
        waiting = self._pending.get(str(payload["question"]))
        if waiting is not None and not waiting.done():
            waiting.set_result(Reply(choice=str(payload["choice"]), by=by, why=str(payload.get("why", ""))))

    # steering
    def steered(self) -> tuple[str, ...]:
        """Takes the steering texts received so far and adds them to the transcript."""
        texts, self._steered = tuple(self._steered), []
        for text in texts:
            self._writer.enqueue(replace(user(text), extra=json.dumps({"steered": True})))
        return texts

    def unread_steering(self) -> list[Progress]:
        """Steering that the runtime never took, as events, so that a surface can send it again."""
        return [Progress("running", RunningDetail(steer=text, heard=False)) for text in self._steered]


def _to_detail(question: Question, seconds: float) -> ApprovalDetail:
    return {
        "status": "asked",
        "question": question.id,
        "text": question.text,
        "tool": question.tool,
        "detail": question.detail,
        "choices": list(question.choices),
        "dangerous": question.dangerous,
        "scope": question.scope,
        "seconds": seconds,
    }


def to_driver_changed(was: str | None, to: str, by: str) -> Progress:
    detail: HandoffDetail = {"from": was or "", "to": to, "by": by}
    return Progress("handoff", detail)


class SavedApprovals:
    """Approvals that a person gave for a session or for ever. Dangerous calls are asked about every time; `always`
    holds for the person who gave it."""

    def __init__(self, store: RecordStore, session: SessionId, principal: Principal = OWNER) -> None:
        self._store, self._session, self._principal = store, session, principal

    async def find(self, question: Question) -> Reply | None:
        """The earlier answer that holds for this question, if any."""
        if not question.tool or question.dangerous:
            return None
        for key in self._keys(question):
            if record := await self._store.get_record(_APPROVAL_KIND, key):
                return Reply(choice=record.value["choice"], by=record.value["by"], why="allowed before")
        return None

    async def save(self, question: Question, reply: Reply) -> None:
        if not question.tool or question.dangerous or reply.choice not in ("session", "always"):
            return
        of_session, always = self._keys(question)
        record = Record(kind=_APPROVAL_KIND, key=of_session, value={"choice": reply.choice, "by": reply.by})
        if reply.choice == "always":
            record = replace(record, key=always, principal=self._principal)
        else:
            record = replace(record, session=self._session)
        await self._store.put_record(record)

    def _keys(self, question: Question) -> tuple[str, str]:
        what = f"{question.tool}/{question.scope}"
        return f"session/{self._session}/{what}", f"always/{self._principal}/{what}"
