"""Turn executor: prepares one turn, runs its runtime and stores every item it yields. Keep this file short."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from sojourn.asyncio_tasks import cancel_tasks_within, close_within
from sojourn.core.errors import Interrupted, LeaseLost, NotDriving, RuntimeFailed, SojournError, StoreUnavailable
from sojourn.core.events import Done, Failed, Progress, Yielded, empty_mapping
from sojourn.core.messages import Json
from sojourn.core.progress import RunningDetail
from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextRequest
from sojourn.ports.store import Transaction
from sojourn.service.agent import AgentService
from sojourn.service.turn_controls import TurnControls
from sojourn.service.turn_record import KIND, TurnRecord
from sojourn.service.turn_start import BegunTurn
from sojourn.service.turn_state import TurnState, to_failed_event
from sojourn.service.turn_writer import GONE, RuntimeSink, TurnWriter
from sojourn.text.event_codec import encode_event
from sojourn.turn_support.cost_limits import CostBook
from sojourn.turn_support.lasting_approvals import SavedApprovals
from sojourn.turn_support.plugin_cache import PluginCache
from sojourn.turn_support.turn_telemetry import begin_turn

STOP_GRACE_SECONDS = 5.0  # seconds a runtime has to tidy up when it is stopped
_AGAIN = "Try again, or another runtime."

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TurnEnd:
    """How a turn ends. `done`: the runtime yielded its own end."""

    status: str = "completed"
    failed: Failed | None = None
    usage: Mapping[str, Json] = field(default_factory=empty_mapping)
    done: bool = False
    request: ContextRequest | None = None

    def take(self, item: Done | Failed) -> None:
        self.done = True
        if isinstance(item, Done):
            self.status, self.usage = item.status, item.usage
        else:
            self.status, self.failed = "failed", item

    def fail(self, error: SojournError, status: str = "failed") -> None:
        self.status, self.failed = status, to_failed_event(error)


class TurnExecutor:
    """Runs turns. Setting `closing` interrupts those that run."""

    def __init__(
        self, app: HasStore, plugins: PluginCache, agent: AgentService, costs: CostBook, closing: asyncio.Event
    ) -> None:
        self._app, self.plugins, self.agent, self._costs, self.closing = app, plugins, agent, costs, closing

    async def run(self, begun: BegunTurn) -> tuple[TurnEnd, TurnState] | None:
        """Runs to its end whether or not anyone watches. None if another process took the session over."""
        started, ending, record = time.monotonic(), TurnEnd(), begun.record
        writer = TurnWriter(self._app.store, begun.lease, record.id, redact=bool(self._app.settings["redact"]))
        writer.resume(begun.stored)
        timeout = float(self._app.settings["agent.approval_seconds"])
        observe_end = begin_turn(self._app.settings, record.runtime, record.model)
        approvals = SavedApprovals(self._app.store, record.session, record.principal)
        controls = TurnControls(writer, record.said, approvals, timeout_seconds=timeout)
        work = asyncio.create_task(self._work(begun, writer, controls, ending))
        watchers = [asyncio.create_task(one) for one in (controls.listen(), writer.keep_lease(self.closing))]
        try:
            await asyncio.wait({work, *watchers}, return_when=asyncio.FIRST_COMPLETED)
            await self._settle(record, work, watchers, ending)
            await self._write_end(record, writer, controls, ending, time.monotonic() - started)
            observe_end(ending.status, {**ending.usage, "seconds": time.monotonic() - started})
            return ending, writer.state
        except GONE as error:
            logger.info("turn %s of session %s is no longer ours: %s", record.id, record.session, error)
            return None
        finally:
            await cancel_tasks_within(STOP_GRACE_SECONDS, [work, *watchers])
            await writer.release()

    async def _work(self, begun: BegunTurn, writer: TurnWriter, controls: TurnControls, ending: TurnEnd) -> None:
        """Prepares the turn and stores what the runtime yields until it is done."""
        record = begun.record
        runtime, store = await self.plugins.runtime(record.runtime), RuntimeSink(self._app.store, record, writer)
        turn_input, ending.request = await self.agent.prepare(begun, writer, runtime, controls)
        await writer(Progress("running", RunningDetail(runtime=record.runtime, model=record.model)))
        async with close_within(STOP_GRACE_SECONDS, runtime.run(turn_input)) as yielded:
            async for item in yielded:
                if isinstance(item, (Done, Failed)):
                    encode_event(item)  # an item that cannot be encoded fails here, where the turn can still report it
                    ending.take(item)
                    return
                await store(item)
        await writer.end_text()
        if not writer.state.answered and not writer.state.unkept:
            raise RuntimeFailed(f"{record.runtime} ended without an answer.", hint=_AGAIN)
        logger.warning("runtime %s ended turn %s without saying that it was done", record.runtime, record.id)

    async def _settle(
        self, record: TurnRecord, work: asyncio.Task[None], watchers: list[asyncio.Task[None]], ending: TurnEnd
    ) -> None:
        """Decides whether the turn finished, was stopped or failed. LeaseLost, NotDriving if it is not ours."""
        try:
            if work.cancelled():
                raise RuntimeFailed(f"{record.runtime} gave up by itself.", hint=_AGAIN)
            if work.done():
                return await work
            await cancel_tasks_within(STOP_GRACE_SECONDS, [work])
            for one in filter(asyncio.Task.done, watchers):
                await one
            if not ending.done:
                ending.status = "cancelled"
        except (LeaseLost, NotDriving):
            raise
        except Interrupted as error:
            ending.fail(error, "interrupted")
        except Exception as error:  # noqa: BLE001  the edge of a turn: here anything may be caught
            if not ending.done:
                self._fail(record, ending, error)

    def _fail(self, record: TurnRecord, ending: TurnEnd, error: Exception) -> None:
        if isinstance(error, StoreUnavailable):  # not the turn's fault: it may be asked again
            logger.warning("turn %s of session %s was cut off: %s", record.id, record.session, error)
            return ending.fail(error, "interrupted" if error.retryable else "failed")
        if not isinstance(error, SojournError):  # what is expected needs no traceback
            logger.error("turn %s broke", record.id, exc_info=error)
            error = RuntimeFailed(f"{record.runtime} failed: {type(error).__name__}: {error}", hint=_AGAIN)
        logger.info("turn %s failed in session %s: %s", record.id, record.session, error)
        ending.fail(error)

    async def _write_end(
        self, record: TurnRecord, writer: TurnWriter, controls: TurnControls, ending: TurnEnd, seconds: float
    ) -> None:
        """Writes loose ends, the error and exactly one `done`. The same transaction removes the turn's record, books
        its cost and releases the lease."""
        if ending.status not in ("completed", "cancelled") and ending.failed is None:
            ending.fail(RuntimeFailed(f"{record.runtime} could not finish.", hint=_AGAIN))
        book_cost = self._costs.save_usage(record.id, ending.usage)
        if steering := controls.unread_steering():  # behind what was shown
            await writer.end_text()
            await writer(*writer.state.loose_ends(ending.status), *steering)
        warnings = self._costs.warn(record.session, record.principal)

        def remove_record(store: Transaction, session: SessionId) -> None:
            book_cost(store, session)
            store.delete_record(KIND, record.key)

        def build_end(state: TurnState, last_seq: int) -> list[Yielded]:
            ends = state.loose_ends(ending.status)
            usage = {**ending.usage, "seconds": round(seconds, 3)}
            done = Done(ending.status, usage, tuple(state.expect(record.session, ends, last_seq).ids))
            return [*ends, *warnings, *([ending.failed] if ending.failed else []), done]

        try:
            await writer.end(build_end, along=remove_record)
        except GONE:
            raise
        except Exception as error:  # noqa: BLE001  what was queued cannot be stored: the turn ends without it
            self._fail(record, ending, error)
            await writer.end(build_end, along=remove_record)
