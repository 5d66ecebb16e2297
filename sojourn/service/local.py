"""LocalService: ports.Service in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Literal

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, CannotSteer, NotAllowed, NotDriving, NotFound, SojournError
from sojourn.core.events import Progress
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.core.skills import Skill, SkillProblem
from sojourn.ports.kit import Kit
from sojourn.ports.libraries import Fact, TemplateInfo
from sojourn.ports.service import ExportFormat, RuntimeInfo, Said, Speaker, Turn
from sojourn.ports.store import Hit, Listing, Log, Search
from sojourn.ports.tool import Reply
from sojourn.service.agent import AgentService
from sojourn.service.begun import Begun, on_record, running
from sojourn.service.choosing import Choosing
from sojourn.service.handoffs import HandoffRequests
from sojourn.service.line import Line
from sojourn.service.loading import Loading
from sojourn.service.recovery import Recovery
from sojourn.service.sessions import Sessions, who
from sojourn.service.spending import Spending
from sojourn.service.turn import Turns
from sojourn.text.export import to_jsonl, to_markdown

SWEEP_SECONDS = 15.0

logger = logging.getLogger(__name__)


class LocalService:
    """Turns run here as tasks; what other processes do is seen through the store."""

    def __init__(self, kit: Kit) -> None:
        self._kit, self._store, self._closing, self._tidied = kit, kit.store, asyncio.Event(), asyncio.Event()
        loading, spending = Loading(kit), Spending(self._store, kit.settings)
        self._handoffs = HandoffRequests(self._store, kit.settings)
        agent = AgentService(kit, loading, spending)
        turns = Turns(kit, loading, agent, spending, self._closing)
        self._sessions, self._choosing = Sessions(self._store), Choosing(kit, loading)
        self._recovery = Recovery(self._store, lambda turn: turn in self._line.mine)
        self._line = Line(kit, loading, turns, agent, self._recovery, self._closing)
        self._tidying: asyncio.Task[None] | None = None

    async def _awake(self) -> None:
        """What an earlier process left is put in order before anything else is done, and then now and again."""
        if self._tidying is None or self._tidying.done():
            self._tidying = asyncio.create_task(self._tidy())
        await self._tidied.wait()

    async def _tidy(self) -> None:
        while True:
            try:
                await self._recovery.sweep()
            except SojournError as error:
                logger.warning("turns of other processes could not be looked at: %s", error)
            finally:
                self._tidied.set()
            await asyncio.sleep(SWEEP_SECONDS)

    # talking
    async def open(
        self,
        by: Speaker,
        *,
        title: str | None = None,
        model: str | None = None,
        runtime: str = "",
        cwd: str = "",
        parent: SessionId | None = None,
    ) -> Session:
        self._choosing.check(runtime)
        if parent is not None:
            await self._sessions.seen(parent, by.principal)
        session = await self._store.create(
            principal=by.principal, source=by.surface, title=title, model=model, cwd=cwd or None, parent=parent
        )
        if runtime:
            await self._choosing.remember(session.id, runtime, model or "")
        return session

    async def say(
        self, session: SessionId, said: Said, by: Speaker, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        await self._awake()
        if not said.text.strip() and not said.attachments:
            raise BadInput("Nothing was said.", hint="Give some words, or an attachment.")
        found = await self._sessions.seen(session, by.principal)
        await self._sessions.check_attached(session, said.attachments)
        chosen = await self._choosing.choose(found, said)
        begun = Begun(
            session=session, principal=found.principal, said=said, by=by, runtime=chosen.runtime, model=chosen.model
        )
        accepting = asyncio.create_task(self._line.accept(begun, wait=when_busy == "wait"))
        turn = await asyncio.shield(accepting)  # whoever asked may go away; what was said stays said
        if chosen.new:
            await self._choosing.remember(session, chosen.runtime, chosen.model)
        return turn

    async def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log:
        await self._awake()
        if principal != OWNER:  # who may see every session; whether it is there, the store says
            await self._sessions.seen(session, principal)
        async with aclosing(self._store.watch(session, after=after)) as log:
            async for kept in log:
                yield kept

    # talking to a running turn
    async def stop(self, session: SessionId, by: Speaker, *, turn: TurnId | None = None) -> bool:
        await self._awake()
        await self._sessions.seen(session, by.principal)
        now = await running(self._store, session)
        if now is not None and turn in (None, now.id):
            await self._store.send_control(session, "stop", {"turn": now.id}, by=who(by))
            return True
        for waiting in await on_record(self._store, session):
            if waiting.state == "queued" and turn in (None, waiting.id):
                await self._store.put_record(replace(waiting, state="stopped").record())
                return True
        return False

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Speaker) -> None:
        if by.principal != OWNER:
            raise NotAllowed("Only the owner may answer this.", hint="Ask the person this installation belongs to.")
        now = await self._running(session, by)
        asked = await self._question(now, question)
        if reply.choice not in asked["choices"]:
            raise BadInput(f'"{reply.choice}" is no answer.', hint=f"Choose one of: {', '.join(asked['choices'])}.")
        word = {"turn": now.id, "question": question, "choice": reply.choice, "why": reply.why}
        await self._store.send_control(session, "answer", word, by=reply.by or who(by))

    async def _question(self, now: Begun, question: str) -> dict[str, Json]:
        """A question of the running turn that nobody has answered yet."""
        found: dict[str, Json] | None = None
        async for kept in self._store.read(now.session, after=now.after):
            item = kept.item
            if isinstance(item, Progress) and item.stage == "approval" and item.detail.get("question") == question:
                found = dict(item.detail) if item.detail.get("status") == "asked" else None
        if found is None:
            raise NotFound(f'No question "{question}" waits for an answer.', hint="It may have been answered already.")
        return found

    async def steer(self, session: SessionId, text: str, by: Speaker) -> None:
        now = await self._running(session, by)
        driver = (await self._store.get(session)).driver
        if driver not in (None, by.surface):
            raise NotDriving(session, driver=driver, asked=by.surface)
        if not await self._choosing.steers(now.runtime):
            raise CannotSteer(
                f"{now.runtime} does not listen while it works.",
                hint="Say it as the next request: with when_busy `wait` it is answered right after this one.",
            )
        await self._store.send_control(session, "steer", {"turn": now.id, "text": text}, by=who(by))

    async def _running(self, session: SessionId, by: Speaker) -> Begun:
        await self._awake()
        await self._sessions.seen(session, by.principal)
        now = await running(self._store, session)
        if now is None:
            raise NotFound(f'No turn is running in session "{session}".', hint="Just say what you want to say.")
        return now

    async def take(self, session: SessionId, by: Speaker) -> Session:
        await self._awake()
        found = await self._sessions.seen(session, by.principal)
        if found.driver == by.surface:
            return found
        now = await running(self._store, session)
        if now is None or not await self._sessions.ask_for_wheel(found, now.id, by):
            if (await self._store.get(session)).driver != by.surface:  # given, and ended at the same moment
                await self._sessions.take_wheel(found, by)
            await self._recovery.sweep(session)  # a turn that did not hand over has lost its lease
        return await self._store.get(session)

    # sessions
    async def undo(self, session: SessionId, by: Speaker) -> int:
        await self._awake()
        await self._sessions.seen(session, by.principal)
        return await self._sessions.undo(session, by)

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        return await self._sessions.attach(session, data, media_type=media_type, name=name)

    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session:
        await self._awake()
        return await self._sessions.seen(session, principal)

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        await self._awake()
        return await self._store.resolve(words, principal=principal)

    async def find(self, listing: Listing) -> list[Session]:
        return await self._store.find(listing)

    async def search(self, search: Search) -> list[Hit]:
        return await self._store.search(search)

    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]:
        await self._awake()
        await self._sessions.seen(session, principal)
        return await self._sessions.messages(session)

    async def change(self, old: Session, new: Session) -> Session:
        return await self._store.change(old, new)

    async def running(self, session: SessionId) -> TurnId | None:
        await self._awake()
        begun = await running(self._store, session)
        return begun.id if begun else None

    async def runtimes(self) -> Sequence[RuntimeInfo]:
        await self._awake()
        return await self._choosing.infos()

    async def export(
        self, session: SessionId, format: ExportFormat = "markdown", *, principal: Principal = OWNER
    ) -> str:
        found = await self.get(session, principal=principal)
        render = to_markdown if format == "markdown" else to_jsonl
        return "".join(render(found, await self._sessions.messages(session)))

    # hand-offs
    async def hand_off(
        self, session: SessionId, platform: str, *, by: Speaker, target: str = "", wait: bool = False
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
        return await self._kit.facts.list_facts(text=text, principal=principal)

    async def add_fact(self, text: str, *, why: str = "", principal: Principal = OWNER) -> Fact:
        return await self._kit.facts.add_fact(text, why=why, principal=principal)

    async def edit_fact(self, id: str, text: str, *, principal: Principal = OWNER) -> Fact:
        return await self._kit.facts.edit_fact(id, text, principal=principal)

    async def delete_fact(self, id: str, *, principal: Principal = OWNER) -> Fact:
        return await self._kit.facts.delete_fact(id, principal=principal)

    async def list_skills(self) -> Sequence[Skill | SkillProblem]:
        return await self._kit.skills.list_skills()

    async def get_skill(self, name: str) -> Skill:
        return await self._kit.skills.get_skill(name)

    async def list_templates(self) -> Sequence[TemplateInfo]:
        return await self._kit.templates.list_templates()

    async def settle(self) -> None:
        """Returns when no turn runs here and nothing is left to do after one."""
        await self._line.settle()

    async def close(self) -> None:
        """Turns that run here are interrupted, and say so."""
        self._closing.set()
        await self._line.close()
        if self._tidying is not None:
            self._tidying.cancel()
            with suppress(asyncio.CancelledError):
                await self._tidying
