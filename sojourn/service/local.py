"""LocalService: ports.Service in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from sojourn.core.errors import BadInput, CannotSteer, NotAllowed, NotDriving, NotFound
from sojourn.core.events import Progress
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, Session, SessionId, TurnId
from sojourn.ports.app import AgentContext
from sojourn.ports.libraries import Fact, Skill, SkillProblem, TemplateInfo
from sojourn.ports.service import Caller, RuntimeInfo, Turn, TurnRequest
from sojourn.ports.tool import Reply
from sojourn.service.agent import AgentService
from sojourn.service.cost_limits import CostBook
from sojourn.service.handoffs import HandoffRequests
from sojourn.service.plugin_cache import PluginCache
from sojourn.service.runtime_selection import RuntimeSelector
from sojourn.service.sessions import SessionOperations, caller_label
from sojourn.service.turn import TurnExecutor
from sojourn.service.turn_queue import TurnQueue
from sojourn.service.turn_record import TurnRecord, find_running, list_active_turns


class LocalService(SessionOperations):
    """ports.Service over the store. Turns run here as tasks; the work of other processes shows in the store."""

    def __init__(self, app: AgentContext) -> None:
        super().__init__(app.store, lambda turn: turn in self._queue.local_turns)
        self._app, self._closing, plugins = app, asyncio.Event(), PluginCache(app)
        self._handoffs, self._selector = HandoffRequests(app.store, app.settings), RuntimeSelector(app, plugins)
        costs = CostBook(app.store, app.settings)
        agent = AgentService(app, plugins, costs)
        executor = TurnExecutor(app, plugins, agent, costs, self._closing)
        self._queue = TurnQueue(app, executor, self._recovery)

    # turns
    async def open(
        self,
        by: Caller,
        *,
        title: str | None = None,
        model: str | None = None,
        runtime: str = "",
        cwd: str = "",
        parent: SessionId | None = None,
    ) -> Session:
        self._selector.require_known(runtime)
        if parent is not None:
            await self.get(parent, principal=by.principal)
        session = await self._store.create(
            principal=by.principal, source=by.surface, title=title, model=model, cwd=cwd or None, parent=parent
        )
        if runtime:
            await self._selector.save(session.id, runtime, model or "")
        return session

    async def say(
        self, session: SessionId, said: TurnRequest, by: Caller, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        if not said.text.strip() and not said.attachments:
            raise BadInput("The request is empty.", hint="Write some text, or attach a file.")
        found = await self.get(session, principal=by.principal)
        for one in said.attachments:
            await self._store.get_blob(session, one.hash)  # NotFound
        selected = await self._selector.select(found, said)
        record = TurnRecord(
            session=session, principal=found.principal, said=said, by=by, runtime=selected.runtime, model=selected.model
        )
        accepting = asyncio.create_task(self._queue.accept(record, wait=when_busy == "wait"))
        turn = await asyncio.shield(accepting)  # a caller that disconnects does not cancel the request
        if selected.new:
            await self._selector.save(session, selected.runtime, selected.model)
        return turn

    async def runtimes(self) -> Sequence[RuntimeInfo]:
        await self._recover_first()
        return await self._selector.describe_all()

    # controls
    async def stop(self, session: SessionId, by: Caller, *, turn: TurnId | None = None) -> bool:
        await self.get(session, principal=by.principal)
        now = await find_running(self._store, session)
        if now is not None and turn in (None, now.id):
            await self._store.send_control(session, "stop", {"turn": now.id}, by=caller_label(by))
            return True
        for waiting in await list_active_turns(self._store, session):
            if waiting.state == "queued" and turn in (None, waiting.id):
                await self._store.put_record(replace(waiting, state="stopped").to_record())
                return True
        return False

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Caller) -> None:
        if by.principal != OWNER:
            raise NotAllowed("Only the owner may answer this.", hint="Ask the person this installation belongs to.")
        now = await self._require_running(session, by)
        asked = await self._find_question(now, question)
        if reply.choice not in asked["choices"]:
            raise BadInput(f'"{reply.choice}" is no answer.', hint=f"Choose one of: {', '.join(asked['choices'])}.")
        control = {"turn": now.id, "question": question, "choice": reply.choice, "why": reply.why}
        await self._store.send_control(session, "answer", control, by=reply.by or caller_label(by))

    async def _find_question(self, now: TurnRecord, question: str) -> dict[str, Json]:
        """Finds an open question of the running turn. NotFound."""
        found: dict[str, Json] | None = None
        async for kept in self._store.read(now.session, after=now.after):
            item = kept.item
            if isinstance(item, Progress) and item.stage == "approval" and item.detail.get("question") == question:
                found = dict(item.detail) if item.detail.get("status") == "asked" else None
        if found is None:
            raise NotFound(f'No question "{question}" waits for an answer.', hint="It may have been answered already.")
        return found

    async def steer(self, session: SessionId, text: str, by: Caller) -> None:
        now = await self._require_running(session, by)
        driver = (await self._store.get(session)).driver
        if driver not in (None, by.surface):
            raise NotDriving(session, driver=driver, asked=by.surface)
        if not await self._selector.can_steer(now.runtime):
            raise CannotSteer(
                f"{now.runtime} does not take text during a turn.",
                hint="Send it as the next request: with when_busy `wait` it is answered right after this one.",
            )
        await self._store.send_control(session, "steer", {"turn": now.id, "text": text}, by=caller_label(by))

    async def _require_running(self, session: SessionId, by: Caller) -> TurnRecord:
        await self.get(session, principal=by.principal)
        now = await find_running(self._store, session)
        if now is None:
            raise NotFound(f'No turn is running in session "{session}".', hint="Send it as a request.")
        return now

    # hand-offs
    async def hand_off(
        self, session: SessionId, platform: str, *, by: Caller, target: str = "", wait: bool = False
    ) -> Handoff:
        found = await self.get(session, principal=by.principal)
        return await self._handoffs.request(found, platform, by=by, target=target, wait=wait)

    def follow_handoff(self, handoff: Handoff) -> AsyncGenerator[Handoff, None]:
        return self._handoffs.follow(handoff)

    async def get_handoff(self, id: HandoffId) -> Handoff:
        return await self._store.get_handoff(id)

    async def cancel_handoff(self, id: HandoffId) -> Handoff:
        return await self._store.cancel_handoff(id)

    # libraries
    async def list_facts(self, *, text: str = "", principal: Principal = OWNER) -> Sequence[Fact]:
        return await self._app.facts.list_facts(text=text, principal=principal)

    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact:
        return await self._app.facts.add_fact(text, why=why, principal=principal)

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact:
        return await self._app.facts.edit_fact(id, text, principal=principal)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        return await self._app.facts.delete_fact(id, principal=principal)

    async def list_skills(self) -> Sequence[Skill | SkillProblem]:
        return await self._app.skills.list_skills()

    async def get_skill(self, name: str) -> Skill:
        return await self._app.skills.get_skill(name)

    async def list_templates(self) -> Sequence[TemplateInfo]:
        return await self._app.templates.list_templates()

    async def settle(self) -> None:
        """Returns when no turn and no follow-up work runs here."""
        await self._queue.settle()

    async def close(self) -> None:
        """Interrupts the turns that run here; each records that."""
        self._closing.set()
        await self._queue.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeping
