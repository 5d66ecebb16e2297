"""Agent questions: what agents that others started ask, each as a turn of a session of ours.

So a question is stored before anybody sees it, its exact text is shown to the owner alone, the first answer wins, and
what a killed server leaves behind is ended as a no, as with any question of a turn. The ledger keeps every answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import NotFound, SojournError, TitleTaken
from sojourn.core.sessions import Session, SessionId
from sojourn.hooks.hook_input import HookEvent
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller, Turn, TurnRequest
from sojourn.ports.store import Record
from sojourn.ports.tool import Question, Reply
from sojourn.text.exact import hash_text
from sojourn.text.formatting import one_line
from sojourn.text.redaction import mark_identifiers
from sojourn.turn_support.agent_questions import SURFACE

LEDGER_KIND = "hook_answer"
_SESSION_KIND = "hook_session"
_MAX_AT_ONCE = 16  # questions of one session of an agent: each sub-agent may ask
_SETTLE_SECONDS, IDLE_SECONDS = 5.0, 60.0  # after which an agent that did not go on is reported
_SHOWN_CHARS = 300


@dataclass(slots=True)
class HookQuestion:
    """What the turn of a session has to ask, or a notice, and where its answer goes."""

    event: HookEvent
    question: Question | None = None
    text: str = ""
    reply: asyncio.Future[Reply] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def resolve(self, reply: Reply) -> None:
        """The first answer holds."""
        if not self.reply.done():
            self.reply.set_result(reply)


class AgentQuestions:
    """Asks in sessions of ours, one for each session of an agent, and more while that one is busy."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._pending: dict[SessionId, HookQuestion] = {}
        self._notices: dict[str, asyncio.Task[None]] = {}
        self._opening = asyncio.Lock()

    def take(self, session: SessionId) -> HookQuestion | None:
        """What the turn that begins now has to ask, or to tell."""
        found = self._pending.get(session)
        if found is not None and found.question is None:
            del self._pending[session]
        return found

    async def ask(self, event: HookEvent, seconds: float) -> Reply:
        """Asks, and waits. A no after `seconds`, or when the caller goes away."""
        self._forget_notice(event)
        text = f"{event.label} wants to use {event.tool} in {event.place}."
        question = Question(
            id=f"h_{secrets.token_hex(8)}", text=text, detail=event.detail, choices=("once", "deny"), scope="outside"
        )
        pending, asked_at = HookQuestion(event, question), time.time()
        reply = Reply(choice="deny", why=f"Nobody answered within {seconds:g} seconds.")
        session, turn = await self._begin(pending, f"{event.label} asks for a permission.")
        try:
            async with asyncio.timeout(seconds):
                reply = await asyncio.shield(pending.reply)
        except TimeoutError:
            pending.resolve(reply)
        except asyncio.CancelledError:
            reply = Reply(choice="deny", why=f"{event.label} no longer waits.")
            pending.resolve(reply)
            raise
        finally:
            await asyncio.shield(self._end(session, turn, pending, reply, asked_at))
        return reply

    async def _end(self, session: Session, turn: Turn, pending: HookQuestion, reply: Reply, asked_at: float) -> None:
        """Ends the turn if it still waits, and writes the ledger."""
        self._pending.pop(session.id, None)
        with suppress(SojournError):
            await self._app.service.stop(session.id, _to_caller(pending.event), turn=turn.id)
        await self._write_ledger(session.id, pending.event, reply, asked_at)

    async def _write_ledger(self, session: SessionId, event: HookEvent, reply: Reply, asked_at: float) -> None:
        value = {
            "program": event.program,
            "folder": event.folder,
            "tool": event.tool,
            "text": one_line(event.detail, _SHOWN_CHARS),
            "sha256": hash_text(event.detail),
            "choice": reply.choice,
            "by": reply.by,
            "why": reply.why,
            "asked_at": asked_at,
            "answered_at": time.time(),
            "session": session,
        }
        key = f"{time.time_ns():020d}-{secrets.token_hex(4)}"
        await self._app.store.put_record(Record(kind=LEDGER_KIND, key=key, value=mark_identifiers(value)))

    # notices
    async def notify(self, event: HookEvent) -> None:
        """Tells that an agent waits: now, or if it is `idle`, when it has not gone on for a while."""
        self._forget_notice(event)
        if event.kind == "waiting":
            await self._show_notice(event)
            return
        self._notices[_identify(event)] = asyncio.create_task(self._watch_idle(event))

    def _forget_notice(self, event: HookEvent) -> None:
        if task := self._notices.pop(_identify(event), None):
            task.cancel()

    async def _watch_idle(self, event: HookEvent) -> None:
        await asyncio.sleep(_SETTLE_SECONDS)
        before = _find_change(event.transcript)
        await asyncio.sleep(IDLE_SECONDS - _SETTLE_SECONDS)
        if _find_change(event.transcript) == before:
            with suppress(SojournError):
                await self._show_notice(event)

    async def _show_notice(self, event: HookEvent) -> None:
        text = f"{event.label} {event.text} ({event.place})."
        await self._begin(HookQuestion(event, text=text), f"{event.label} sends a notice.")

    # sessions
    async def _begin(self, pending: HookQuestion, said: str) -> tuple[Session, Turn]:
        """Starts the turn. What the agent wrote is in the question alone: no context source and no model reads it."""
        by = _to_caller(pending.event)
        async with self._opening:
            session = await self._find_session(pending.event, by)
            self._pending[session.id] = pending
        request = TurnRequest(text=said, runtime=SURFACE, internal=True, key=secrets.token_hex(16), drop=("*",))
        try:
            return session, await self._app.service.say(session.id, request, by)
        except BaseException:
            self._pending.pop(session.id, None)
            raise

    async def _find_session(self, event: HookEvent, by: Caller) -> Session:
        """The first free session of this agent's session; a new one if there is none."""
        for n in range(_MAX_AT_ONCE):
            key = f"{_identify(event)}/{n}"
            record = await self._app.store.get_record(_SESSION_KIND, key)
            found = await self._get_free(record.session) if record is not None and record.session else None
            if found is not None:
                return found
            if record is None:
                session = await self._open_session(event, by)
                await self._app.store.put_record(Record(kind=_SESSION_KIND, key=key, value={}, session=session.id))
                return session
        raise NotFound("Too many questions of this agent wait.", hint="Answer some of them first.")

    async def _get_free(self, id: SessionId) -> Session | None:
        if id in self._pending or await self._app.service.running(id) is not None:
            return None
        return await self._app.service.get(id)

    async def _open_session(self, event: HookEvent, by: Caller) -> Session:
        title, folder = f"{event.label} asks: {event.place}"[:80], event.folder
        cwd = folder if folder and Path(folder).is_dir() else ""
        for wanted in (title, f"{title} ({secrets.token_hex(3)})", None):
            try:
                return await self._app.service.open(by, title=wanted, cwd=cwd)
            except TitleTaken:
                continue
        raise AssertionError("a session without a title can always be opened")

    async def close(self) -> None:
        """Forgets the notices that were not due yet."""
        await cancel_tasks(self._notices.values())


def describe_reply(event: HookEvent, reply: Reply) -> str:
    """The answer in words, without what was asked: that is in the question and in the ledger."""
    if reply.choice == "once":
        return f"{event.tool}: allowed once by {reply.by or 'you'}."
    return f"{event.tool}: refused{f' by {reply.by}' if reply.by else ''}{f'. {reply.why}' if reply.why else '.'}"


def ledger_to_json(record: Record) -> Mapping[str, Any]:
    return {"id": record.key, **record.value}


def _to_caller(event: HookEvent) -> Caller:
    return Caller(surface=SURFACE, holder=f"{event.label} (hook)")


def _identify(event: HookEvent) -> str:
    """The key of an agent's session: of its own id, which may be anything."""
    return f"{event.program}/{hashlib.sha256(event.session.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _find_change(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return found.st_size, found.st_mtime_ns
