"""Turn queue: one turn per session at a time, across processes; later requests wait in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from functools import partial
from typing import Any

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import (
    BeingHandedOver,
    Conflict,
    Interrupted,
    NotFound,
    SessionBusy,
    SojournError,
    StoreUnavailable,
)
from sojourn.core.sessions import TurnId
from sojourn.ports.app import HasStore
from sojourn.ports.runtime import CanComplete
from sojourn.ports.service import Turn
from sojourn.service.recovery import Recovery
from sojourn.service.turn import TurnEnd, TurnExecutor
from sojourn.service.turn_record import TurnRecord, list_active_turns
from sojourn.service.turn_start import BegunTurn, TurnStart, begin_turn, find_ahead, queue_turn
from sojourn.service.turn_state import TurnState
from sojourn.turn_support.conversation_history import SessionPast
from sojourn.turn_support.session_titles import improve_title, title_from_request
from sojourn.turn_support.store_retry import retry_while_away

_RETRY_SECONDS = 0.1  # while a session is busy
_MAX_RETRIES = 60  # when this process is about to end

logger = logging.getLogger(__name__)


class TurnQueue:
    """Starts turns as tasks of this process; `local_turns` are those that run here."""

    def __init__(self, app: HasStore, executor: TurnExecutor, recovery: Recovery) -> None:
        self._app, self._store, self._executor, self._recovery = app, app.store, executor, recovery
        self._closing = executor.closing
        self.local_turns: dict[TurnId, asyncio.Task[None]] = {}
        self._afterwards: set[asyncio.Task[None]] = set()

    # accepting
    async def accept(self, record: TurnRecord, *, past: SessionPast | None, keep_runtime: bool, wait: bool) -> Turn:
        """Stores the request and starts or queues its turn. SessionBusy if it may not wait; NotDriving."""
        title = "" if record.said.internal else title_from_request(record.said.text)
        opening = await self._store.redact(record.opening())
        start = TurnStart(record=record, opening=opening, title=title, keep_runtime=keep_runtime, past=past)
        try:
            begun = await self._begin(start)
        except SessionBusy:
            if not wait:
                raise
            return await self._queue(start)
        if isinstance(begun, Turn):
            await self._recovery.sweep(record.session)  # the caller waits for its end
            return begun
        self._start_task(begun.record, self._run(begun))
        return begun.record.turn

    async def _begin(self, start: TurnStart) -> BegunTurn | Turn:
        """SessionBusy while a turn runs or earlier requests wait."""
        begin = partial(self._store.transact, partial(begin_turn, start=start))
        try:
            return await retry_while_away(begin)
        except SessionBusy:
            if not await self._recovery.sweep(start.record.session):
                raise
            return await retry_while_away(begin)
        except StoreUnavailable as error:
            if error.retryable:  # it may have been committed: then it has to be ended when the store is back
                self._start_task(start.record, self._give_up(start.record))
            raise

    # waiting
    async def _queue(self, start: TurnStart) -> Turn:
        queued = await retry_while_away(partial(self._store.transact, partial(queue_turn, start=start)))
        if isinstance(queued, Turn):
            return queued
        self._start_task(queued, self._wait(TurnStart(record=queued, opening=start.opening, title=start.title)))
        return queued.turn

    async def _wait(self, start: TurnStart) -> None:
        """Runs this turn when it is the oldest in the queue and the session is free, unless it is ended before."""
        record = start.record
        while not self._closing.is_set():
            try:
                active = await self._store.snapshot(partial(list_active_turns, session=record.session))
                mine = next((one for one in active if one.id == record.id), None)
                if mine is None:
                    return  # the session was deleted, or another process ended the turn
                if mine.state == "stopped":
                    return await self._give_up(mine)
                if not find_ahead(active, mine):
                    begun = await self._store.transact(partial(begin_turn, start=start))
                    assert isinstance(begun, BegunTurn)
                    return await self._run(begun)
            except (SessionBusy, BeingHandedOver):
                pass
            except StoreUnavailable as error:
                logger.warning("turn %s of session %s waits for the store: %s", record.id, record.session, error)
            except SojournError as error:  # another surface drives the session now
                return await self._give_up(record, error)
            await self._pause(record)
        await self._give_up(record, Interrupted("Sojourn was stopped before this was answered.", hint="Say it again."))

    async def _pause(self, record: TurnRecord) -> None:
        """Sleeps briefly, or until a turn of this process ends."""
        others = [task for turn, task in self.local_turns.items() if turn != record.id]
        if others:
            await asyncio.wait(others, timeout=_RETRY_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(_RETRY_SECONDS)

    async def _give_up(self, record: TurnRecord, error: SojournError | None = None) -> None:
        """Writes the end of a turn that will not run, retrying until the store accepts it."""
        tries = 0
        while tries < _MAX_RETRIES:
            try:
                return await self._recovery.end(record, error)
            except NotFound:
                return  # the session was deleted
            except (Conflict, StoreUnavailable):
                tries += self._closing.is_set()
                await asyncio.sleep(_RETRY_SECONDS)

    # running
    def _start_task(self, record: TurnRecord, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"turn {record.id}")
        self.local_turns[record.id] = task
        task.add_done_callback(lambda _: self._over(record, task))

    def _over(self, record: TurnRecord, task: asyncio.Task[None]) -> None:
        """A turn that could not be ended keeps its record; recovery ends it when the store is back."""
        self.local_turns.pop(record.id, None)
        if not task.cancelled() and (error := task.exception()):
            logger.error("turn %s of session %s could not be ended", record.id, record.session, exc_info=error)

    async def _run(self, begun: BegunTurn) -> None:
        if outcome := await self._executor.run(begun):
            after = asyncio.create_task(self._after(begun.record, begun.title, *outcome))
            self._afterwards.add(after)
            after.add_done_callback(self._afterwards.discard)

    # afterwards
    async def _after(self, record: TurnRecord, title: str | None, ending: TurnEnd, state: TurnState) -> None:
        """Lets context sources learn from the turn and a runtime that can improve the title."""
        try:
            if ending.request is not None:
                await self._executor.agent.context.learn(ending.request, state.messages, ending.status)
            runtime = await self._executor.plugins.runtime(record.runtime)
            wanted = ending.status == "completed" and self._app.settings["agent.titles"]
            if title and wanted and isinstance(runtime, CanComplete):
                await improve_title(self._store, record.session, runtime, state.messages, instead_of=title)
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
        await cancel_tasks([*self.local_turns.values(), *self._afterwards])
