"""LocalService: ports.Service in this process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Literal

from sojourn.asyncio_tasks import cancel_task
from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput, CannotSteer, NotDriving, NotFound, SojournError
from sojourn.core.events import Done, Progress
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.library_service import LibraryService
from sojourn.ports.app import AgentContext
from sojourn.ports.service import Caller, ExportFormat, RuntimeInfo, Turn, TurnRequest
from sojourn.ports.store import Listing, Log, PendingQuestion, SearchHit, SearchQuery, Store, Transaction
from sojourn.ports.tool import Reply
from sojourn.service.agent import AgentService
from sojourn.service.handoffs import HandoffRequests
from sojourn.service.recovery import Recovery
from sojourn.service.turn import TurnExecutor
from sojourn.service.turn_controls import to_driver_changed
from sojourn.service.turn_queue import TurnQueue
from sojourn.service.turn_record import TurnRecord, find_running, list_active_turns
from sojourn.text.codec import encode_value
from sojourn.text.renderers import RENDERERS
from sojourn.turn_support.attachment_files import save_attachment
from sojourn.turn_support.conversation_history import STATE_KIND, SessionPast, read_past, summary_place
from sojourn.turn_support.cost_limits import CostBook
from sojourn.turn_support.lasting_approvals import ApprovalList, require_owner
from sojourn.turn_support.plugin_cache import PluginCache
from sojourn.turn_support.runtime_readiness import RuntimeReadiness
from sojourn.turn_support.runtime_selection import save_selection, select_runtime

SWEEP_SECONDS = 15.0
_TAKE_OVER_SECONDS = 3.0  # for a running turn to answer

logger = logging.getLogger(__name__)


class LocalService(LibraryService, ApprovalList):
    """ports.Service over the store. Turns run here as tasks; the work of other processes shows in the store.

    Recovery runs before the first request, then regularly.
    """

    _store: Store

    def __init__(self, app: AgentContext) -> None:
        LibraryService.__init__(self, app)
        ApprovalList.__init__(self, app.store)
        self._app, self._closing, plugins = app, asyncio.Event(), PluginCache(app)
        self._recovery = Recovery(app.store, lambda turn: turn in self._queue.local_turns)
        self._recovered = asyncio.Event()
        self._sweeping: asyncio.Task[None] | None = None
        self._handoffs, self._runtimes = HandoffRequests(app.store, app.settings), RuntimeReadiness(app, plugins)
        self._costs = CostBook(app.settings)
        agent = AgentService(app, plugins, self._costs)
        executor = TurnExecutor(app, plugins, agent, self._costs, self._closing)
        self._queue = TurnQueue(app, executor, self._recovery)

    async def _recover_first(self) -> None:
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep())
        await self._recovered.wait()

    async def _sweep(self) -> None:
        while True:
            try:
                await self._recovery.sweep()
            except SojournError as error:
                logger.warning("recovery could not check turns of other processes: %s", error)
            finally:
                self._recovered.set()
            await asyncio.sleep(SWEEP_SECONDS)

    # sessions
    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session:
        """The session, if it belongs to `principal` or `principal` is the owner. NotFound."""
        await self._recover_first()
        return await self._store.get(session, principal=None if principal == OWNER else principal)

    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        await self._recover_first()
        return await self._store.resolve(words, principal=principal)

    async def find(self, listing: Listing) -> list[Session]:
        return await self._store.find(listing)

    async def search(self, search: SearchQuery) -> list[SearchHit]:
        return await self._store.search(search)

    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]:
        await self.get(session, principal=principal)
        return [kept async for kept in self._store.read(session, messages_only=True)]

    async def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log:
        await self._recover_first()
        if principal != OWNER:  # the owner may see every session; the store raises NotFound
            await self.get(session, principal=principal)
        async with aclosing(self._store.watch(session, after=after)) as log:
            async for kept in log:
                yield kept

    async def export(
        self, session: SessionId, format: ExportFormat = "markdown", *, principal: Principal = OWNER
    ) -> str:
        return "".join(RENDERERS[format](await self.get(session, principal=principal), await self.messages(session)))

    async def running(self, session: SessionId) -> TurnId | None:
        await self._recover_first()
        record = await self._find_running(session)
        return record.id if record else None

    async def _find_running(self, session: SessionId) -> TurnRecord | None:
        return await self._store.snapshot(partial(find_running, session=session))

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
        self._runtimes.require_known(runtime)
        if parent is not None:
            await self.get(parent, principal=by.principal)
        values = {"principal": by.principal, "source": by.surface, "title": title, "model": model, "cwd": cwd or None}

        def create(store: Transaction) -> Session:
            session = store.create(**values, parent=parent)
            return save_selection(store, session, runtime, model or "") if runtime else session

        return await self._store.transact(create)

    async def say(
        self, session: SessionId, said: TurnRequest, by: Caller, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        if not said.text.strip() and not said.attachments:
            raise BadInput("The request is empty.", hint="Write some text, or attach a file.")
        if said.allow:
            require_owner(by)
        await self._recover_first()
        read = partial(_read_past, session=session, said=said, by=by, costs=self._costs)
        past = await self._store.snapshot(read)
        found = past.session
        selected = await select_runtime(self._runtimes, found, past.runtime, said)
        record = TurnRecord(
            session=session, principal=found.principal, said=said, by=by, runtime=selected.runtime, model=selected.model
        )
        accept = self._queue.accept(record, past=past, keep_runtime=selected.new, wait=when_busy == "wait")
        return await asyncio.shield(asyncio.create_task(accept))  # a caller that disconnects does not cancel it

    async def change(self, old: Session, new: Session) -> Session:
        return await self._store.change(old, new)

    async def branch(self, session: SessionId, at: int, by: Caller) -> Session:
        await self.get(session, principal=by.principal)
        return await self._store.branch(session, at, source=by.surface)

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Also deletes the saved state of runtimes."""
        await self.get(session, principal=by.principal)
        return await self._store.transact(partial(_undo, session=session, by=by))

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        return await save_attachment(self._app, session, data, media_type=media_type, name=name)

    async def runtimes(self) -> Sequence[RuntimeInfo]:
        await self._recover_first()
        return await self._runtimes.describe_all()

    # controls
    async def stop(self, session: SessionId, by: Caller, *, turn: TurnId | None = None) -> bool:
        await self.get(session, principal=by.principal)
        return await self._store.transact(partial(_stop, session=session, turn=turn, by=caller_label(by)))

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Caller) -> None:
        require_owner(by)
        now = await self._require_running(session, by)
        asked = await self._find_question(now, question)
        if reply.choice not in asked["choices"]:
            raise BadInput(f'"{reply.choice}" is no answer.', hint=f"Choose one of: {', '.join(asked['choices'])}.")
        control = {"turn": now.id, "question": question, **encode_value(reply)}
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

    async def get_question(self, session: SessionId, question: str, by: Caller) -> PendingQuestion:
        require_owner(by)
        found = await self._store.get_question(session, question)
        if found is None:
            raise NotFound(f'No question "{question}" waits for an answer.', hint="It may have been answered already.")
        return found

    async def steer(self, session: SessionId, text: str, by: Caller) -> None:
        now = await self._require_running(session, by)
        driver = (await self._store.get(session)).driver
        if driver not in (None, by.surface):
            raise NotDriving(session, driver=driver, asked=by.surface)
        if not await self._runtimes.can_steer(now.runtime):
            raise CannotSteer(
                f"{now.runtime} does not take text during a turn.",
                hint="Send it as the next request: with when_busy `wait` it is answered right after this one.",
            )
        await self._store.send_control(session, "steer", {"turn": now.id, "text": text}, by=caller_label(by))

    async def _require_running(self, session: SessionId, by: Caller) -> TurnRecord:
        await self.get(session, principal=by.principal)
        now = await self._find_running(session)
        if now is None:
            raise NotFound(f'No turn is running in session "{session}".', hint="Send it as a request.")
        return now

    # the driver, hand-offs
    async def take_over(self, session: SessionId, by: Caller) -> Session:
        found = await self.get(session, principal=by.principal)
        if found.driver == by.surface:
            return found
        now = await self._find_running(session)
        if now is None or not await self._request_driver(found, now.id, by):
            if (await self._store.get(session)).driver != by.surface:  # handed over at the same moment
                await self._store.transact(partial(_set_driver, session=found, by=by))
            await self._recovery.sweep(session)  # a turn that did not answer has lost its lease
        return await self._store.get(session)

    async def _request_driver(self, session: Session, turn: TurnId, by: Caller) -> bool:
        """Asks the running turn to go on for this surface. False if it does not answer in time."""
        control = {"turn": turn, "surface": by.surface}
        await self._store.send_control(session.id, "take", control, by=caller_label(by))
        try:
            async with (
                asyncio.timeout(_TAKE_OVER_SECONDS),
                aclosing(self._store.watch(session.id, after=session.last_seq)) as log,
            ):
                async for kept in log:
                    item = kept.item
                    if isinstance(item, Progress) and item.stage == "handoff" and item.detail["to"] == by.surface:
                        return True
                    if isinstance(item, Done):
                        return False  # it ended before it read the control
        except TimeoutError:
            pass
        return False

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

    async def settle(self) -> None:
        """Returns when no turn and no follow-up work runs here."""
        await self._queue.settle()

    async def close(self) -> None:
        """Interrupts the turns that run here; each records that."""
        self._closing.set()
        await self._queue.close()
        await cancel_task(self._sweeping)


def caller_label(by: Caller) -> str:
    """Names the caller for people."""
    return by.holder or by.name or by.surface


def _read_past(store: Transaction, session: SessionId, said: TurnRequest, by: Caller, costs: CostBook) -> SessionPast:
    """The session and its past. NotFound, also for an attachment that was never stored."""
    found = store.get(session, principal=None if by.principal == OWNER else by.principal)
    for one in said.attachments:
        store.get_blob(session, one.hash)
    return read_past(store, found, costs, upto=found.last_seq)


def _undo(store: Transaction, session: SessionId, by: Caller) -> int:
    lease = store.lease(session, holder=caller_label(by), surface=by.surface)
    live = [
        (kept.seq, kept.item.role)
        for kept in store.read(session, messages_only=True)
        if isinstance(kept.item, Message) and kept.item.active and not summary_place(kept.item)
    ]
    requests = [seq for seq, role in live if role == "user"]
    seqs = [seq for seq, _ in live if requests and seq >= requests[-1]]
    hidden = store.set_flags(lease, seqs, active=False, compacted=False) if seqs else 0
    for record in store.list_records(STATE_KIND, session=session) if seqs else ():
        store.delete_record(STATE_KIND, record.key)
    store.renew(lease, 0)
    return hidden


def _stop(store: Transaction, session: SessionId, turn: TurnId | None, by: str) -> bool:
    if (now := find_running(store, session)) and turn in (None, now.id):
        store.send_control(session, "stop", {"turn": now.id}, by=by)
        return True
    queued = (one for one in list_active_turns(store, session) if one.state == "queued" and turn in (None, one.id))
    if waiting := next(queued, None):
        store.put_record(replace(waiting, state="stopped").to_record())
    return waiting is not None


def _set_driver(store: Transaction, session: Session, by: Caller) -> None:
    """Makes `by.surface` the driver and records that. Conflict if another surface did so at the same moment."""
    store.set_driver(session.id, by.surface, fence=session.driver_fence)
    lease = store.lease(session.id, holder=caller_label(by), surface=by.surface)
    store.append(lease, [to_driver_changed(session.driver, by.surface, caller_label(by))])
    store.renew(lease, 0)
