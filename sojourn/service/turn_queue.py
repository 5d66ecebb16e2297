"""Turn queue: one turn per session at a time, across processes; later requests wait in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from sojourn.core.errors import (
    BeingHandedOver,
    Conflict,
    Interrupted,
    NotDriving,
    NotFound,
    SessionBusy,
    SojournError,
    StoreUnavailable,
)
from sojourn.core.sessions import Lease, TurnId
from sojourn.ports.app import HasStore
from sojourn.ports.runtime import CanComplete
from sojourn.ports.service import Turn
from sojourn.ports.store import SideWrites
from sojourn.process_identity import is_dead
from sojourn.service import idempotency, titles
from sojourn.service.recovery import Recovery
from sojourn.service.turn import TurnEnd, TurnExecutor
from sojourn.service.turn_record import (
    LEASE_SECONDS,
    MAX_RETRIES,
    RETRY_SECONDS,
    TurnRecord,
    acquire_lease,
    find_running,
    list_active_turns,
    remove_turn,
)
from sojourn.service.turn_state import TurnState
from sojourn.service.turn_writer import StartedTurn, TurnWriter

logger = logging.getLogger(__name__)


class TurnQueue:
    """Starts turns as tasks of this process; `local_turns` are those that run here."""

    def __init__(self, app: HasStore, executor: TurnExecutor, recovery: Recovery) -> None:
        self._app, self._store, self._executor, self._recovery = app, app.store, executor, recovery
        self._closing = executor.closing
        self.local_turns: dict[TurnId, asyncio.Task[None]] = {}
        self._afterwards: set[asyncio.Task[None]] = set()

    # accepting
    async def accept(self, record: TurnRecord, *, wait: bool) -> Turn:
        """Stores the request and starts or queues its turn. SessionBusy if it may not wait; NotDriving."""
        if earlier := await idempotency.find_turn(self._store, record):
            await self._recovery.sweep(record.session)  # the caller waits for its end
            return earlier
        try:
            lease = await self._lease(record)
        except SessionBusy:
            if earlier := await idempotency.find_turn(self._store, record):
                return earlier
            if not wait:
                raise
            return await self._queue(record)
        try:
            started = await self._open(record, lease, claim=True)
        except Conflict:
            if earlier := await idempotency.find_turn(self._store, record):  # the same request, twice at once
                return earlier
            raise
        self._begin(started.record, self._run(started))
        return started.record.turn

    async def _lease(self, record: TurnRecord) -> Lease:
        """Acquires the lease. SessionBusy while a turn runs or earlier requests wait."""
        active = await list_active_turns(self._store, record.session)
        if active:
            await self._recovery.sweep(record.session)
            active = await list_active_turns(self._store, record.session)
        if ahead := next((one for one in active if one.state == "queued" and not is_dead(one.process)), None):
            raise SessionBusy(record.session, holder=ahead.holder, surface=ahead.by.surface, since=ahead.since)
        return await acquire_lease(self._store, record.session, holder=record.holder, surface=record.by.surface)

    # waiting
    async def _queue(self, record: TurnRecord) -> Turn:
        session = await self._store.get(record.session)
        record = replace(record, after=session.last_seq, since=time.time())
        await idempotency.claim(self._store, record)
        await self._store.put_record(record.to_record())
        if now := await find_running(self._store, record.session):
            payload = {"turn": now.id, "queued": record.id}
            await self._store.send_control(record.session, "queued", payload, by=record.caller_label)
        self._begin(record, self._wait(record))
        return record.turn

    async def _wait(self, record: TurnRecord) -> None:
        """Runs this turn when it is the oldest in the queue and the session is free, unless it is ended before."""
        while not self._closing.is_set():
            lease = None
            try:
                active = await list_active_turns(self._store, record.session)
                me = next((one for one in active if one.id == record.id), None)
                if me is None:
                    return  # the session was deleted, or another process ended the turn
                if me.state == "stopped":
                    return await self._give_up(me)
                queued = [one for one in active if one.state == "queued" and not is_dead(one.process)]
                if not any(one.since < me.since for one in queued):
                    lease = await self._store.lease(
                        record.session, holder=record.holder, surface=record.by.surface, seconds=LEASE_SECONDS
                    )
            except (SessionBusy, BeingHandedOver):
                pass
            except StoreUnavailable as error:
                logger.warning("turn %s of session %s waits for the store: %s", record.id, record.session, error)
            except NotDriving as error:
                return await self._give_up(record, error)
            if lease is not None:
                return await self._run_leased(record, lease)
            await self._pause(record)
        await self._give_up(record, Interrupted("Sojourn was stopped before this was answered.", hint="Say it again."))

    async def _run_leased(self, record: TurnRecord, lease: Lease) -> None:
        try:
            started = await self._open(record, lease)
        except StoreUnavailable:
            return await self._give_up(record)
        except SojournError as error:  # another surface took over at this moment
            return await self._give_up(record, error)
        await self._run(started)

    async def _pause(self, record: TurnRecord) -> None:
        """Sleeps briefly, or until a turn of this process ends."""
        others = [task for turn, task in self.local_turns.items() if turn != record.id]
        if others:
            await asyncio.wait(others, timeout=RETRY_SECONDS * 2, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(RETRY_SECONDS * 2)

    async def _give_up(self, record: TurnRecord, error: SojournError | None = None) -> None:
        """Writes the end of a turn that will not run, retrying until the store accepts it."""
        tries = 0
        while tries < MAX_RETRIES:
            try:
                return await self._recovery.end(record, error)
            except NotFound:
                return  # the session was deleted
            except (Conflict, StoreUnavailable):
                tries += self._closing.is_set()
                await asyncio.sleep(RETRY_SECONDS * 2)

    # running
    async def _open(self, record: TurnRecord, lease: Lease, *, claim: bool = False) -> StartedTurn:
        """Stores the record and the first log items in one transaction, after ending turns left by other processes."""
        writer = TurnWriter(self._store, lease, record.id, redact=bool(self._app.settings["redact"]))
        try:
            await self._recovery.end_running(lease, but=record)
            session = await self._store.get(record.session)
            record = record.running(lease, session.last_seq)
            writer.after = record.after
            along = SideWrites(new=idempotency.claim_records(record) if claim else (), put=(record.to_record(),))
            await writer.begin(*record.opening(), along=along)
        except BaseException as error:
            if not writer.is_unsure and (not isinstance(error, StoreUnavailable) or not error.retryable):
                await remove_turn(self._store, record)
                await idempotency.release(self._store, record)
            # else the transaction may have been committed: recovery ends the turn when the store is back
            await writer.release()
            raise
        return StartedTurn(record, writer, replace(session, last_seq=writer.after))

    def _begin(self, record: TurnRecord, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"turn {record.id}")
        self.local_turns[record.id] = task
        task.add_done_callback(lambda _: self._over(record, task))

    def _over(self, record: TurnRecord, task: asyncio.Task[None]) -> None:
        """A turn that could not be ended keeps its record; recovery ends it when the store is back."""
        self.local_turns.pop(record.id, None)
        if not task.cancelled() and (error := task.exception()):
            logger.error("turn %s of session %s could not be ended", record.id, record.session, exc_info=error)

    async def _run(self, started: StartedTurn) -> None:
        title = await self._name(started)
        session = replace(started.session, title=started.session.title or title)
        if outcome := await self._executor.run(replace(started, session=session)):
            after = asyncio.create_task(self._after(started.record, title, *outcome))
            self._afterwards.add(after)
            after.add_done_callback(self._afterwards.discard)

    # afterwards
    async def _name(self, started: StartedTurn) -> str | None:
        """Gives an untitled session a title made of its first request."""
        record = started.record
        if record.said.internal or started.session.title:
            return None
        try:
            return await titles.set_title(self._store, record.session, titles.title_from_request(record.said.text))
        except SojournError as error:
            logger.warning("session %s got no title: %s", record.session, error)
            return None

    async def _after(self, record: TurnRecord, title: str | None, ending: TurnEnd, state: TurnState) -> None:
        """Lets context sources learn from the turn and a runtime that can improve the title."""
        try:
            if ending.request is not None:
                await self._executor.agent.learn(ending.request, state.messages, ending.status)
            runtime = await self._executor.plugins.runtime(record.runtime)
            wanted = ending.status == "completed" and self._app.settings["agent.titles"]
            if title and wanted and isinstance(runtime, CanComplete):
                await titles.improve_title(self._store, record.session, runtime, state.messages, instead_of=title)
        except SojournError as error:
            logger.info("after turn %s: %s", record.id, error)

    async def settle(self) -> None:
        """Returns when no turn and no follow-up work runs here."""
        while tasks := [*self.local_turns.values(), *self._afterwards]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Waits for turns to end, then cancels what is left."""
        if self.local_turns:
            await asyncio.wait([*self.local_turns.values()], timeout=15)
        if self._afterwards:
            await asyncio.wait([*self._afterwards], timeout=2)
        for task in [*self.local_turns.values(), *self._afterwards]:
            task.cancel()
        await asyncio.gather(*self.local_turns.values(), *self._afterwards, return_exceptions=True)
