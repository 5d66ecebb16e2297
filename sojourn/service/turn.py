"""One turn, from words to a kept answer. Nothing in the product matters more than this staying short."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from sojourn.core.errors import Interrupted, LeaseLost, NotDriving, RuntimeFailed, SojournError, StoreUnavailable
from sojourn.core.events import Done, Failed, Progress, empty_mapping, encode_event
from sojourn.core.messages import Json
from sojourn.core.sessions import Session
from sojourn.ports.app import HasStore
from sojourn.ports.context import ContextRequest
from sojourn.ports.runtime import RuntimeOutput
from sojourn.ports.store import SideWrites
from sojourn.service.agent import AgentService
from sojourn.service.approvals import Approvals
from sojourn.service.begun import KIND, Begun, off_record
from sojourn.service.course import Course, told
from sojourn.service.hearing import Hearing
from sojourn.service.keeping import Keeping
from sojourn.service.loading import Loading
from sojourn.service.log import GONE, Pen
from sojourn.service.spending import Spending

GRACE = 5.0  # seconds a runtime has to tidy up when it is stopped

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Ending:
    """How a turn ends. `done`: the runtime has said so itself."""

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
        self.status, self.failed = status, told(error)


class Turns:
    """Runs turns, until `closing` is set: then those that run are interrupted."""

    def __init__(
        self, kit: HasStore, loading: Loading, agent: AgentService, spending: Spending, closing: asyncio.Event
    ) -> None:
        self._kit, self._loading, self._agent = kit, loading, agent
        self._spending, self._closing = spending, closing

    async def run(self, begun: Begun, pen: Pen, session: Session) -> tuple[Ending, Course] | None:
        """Runs to its end whether or not anyone is watching. None: the session went to somebody else."""
        started, ending = time.monotonic(), Ending()
        patience = float(self._kit.settings["agent.approval_seconds"])
        approvals = Approvals(self._kit.store, begun.session, begun.principal)
        hearing = Hearing(pen, approvals, patience=patience)
        work = asyncio.create_task(self._work(begun, pen, session, hearing, ending))
        outside = [asyncio.create_task(one) for one in (hearing.listen(), pen.hold(), self._closed())]
        try:
            await asyncio.wait({work, *outside}, return_when=asyncio.FIRST_COMPLETED)
            await self._settle(begun, work, outside, ending)
            await self._write_end(begun, pen, hearing, ending, time.monotonic() - started)
            return ending, pen.course
        except GONE as error:
            logger.info("turn %s of session %s is no longer ours: %s", begun.id, begun.session, error)
            return None
        finally:
            await _cut(work, *outside)
            await pen.let_go()

    async def _work(self, begun: Begun, pen: Pen, session: Session, hearing: Hearing, ending: Ending) -> None:
        """Prepares, dispatches, and keeps what the runtime gives until it is done."""
        runtime, keep = await self._loading.runtime(begun.runtime), Keeping(self._kit.store, begun, pen)
        prepared = await self._agent.prepare(begun, session, runtime, pen, hearing)
        ending.request = prepared.request
        await pen(Progress("running", {"runtime": begun.runtime, "model": begun.model}))
        async with _closing(runtime.run(prepared.turn)) as given:
            async for item in given:
                if isinstance(item, (Done, Failed)):
                    encode_event(item)  # what cannot be told fails here, where that can still be said
                    await pen.flush()
                    ending.take(item)
                    return
                await keep(item)
        await pen.flush()
        if not pen.course.answered and not pen.course.unkept:
            raise RuntimeFailed(f"{begun.runtime} ended without an answer.", hint="Try again, or another runtime.")
        logger.warning("runtime %s ended turn %s without saying that it was done", begun.runtime, begun.id)

    async def _closed(self) -> None:
        await self._closing.wait()
        raise Interrupted("Sojourn was stopped in the middle of this turn.", hint="Say it again, or go on from here.")

    async def _settle(
        self, begun: Begun, work: asyncio.Task[None], outside: list[asyncio.Task[None]], ending: Ending
    ) -> None:
        """Whether it is finished, was stopped, or has failed. Raises when the session is somebody else's."""
        try:
            if work.cancelled():
                raise RuntimeFailed(f"{begun.runtime} gave up by itself.", hint="Try again, or another runtime.")
            if work.done():
                await work
                return
            await _cut(work)
            for one in filter(asyncio.Task.done, outside):
                await one
            if not ending.done:
                ending.status = "cancelled"
        except (LeaseLost, NotDriving):
            raise
        except Interrupted as error:
            ending.fail(error, "interrupted")
        except StoreUnavailable as error:  # not the turn's fault: it may be asked again
            logger.warning("turn %s of session %s was cut off: %s", begun.id, begun.session, error)
            if not ending.done:
                ending.fail(error, "interrupted" if error.retryable else "failed")
        except Exception as error:  # the edge of a turn: here anything may be caught
            logger.exception("turn %s failed in session %s", begun.id, begun.session)
            if not ending.done:
                ending.fail(error if isinstance(error, SojournError) else _foreign(begun.runtime, error))

    async def _write_end(self, begun: Begun, pen: Pen, hearing: Hearing, ending: Ending, seconds: float) -> None:
        """Loose ends first, then why it failed, then exactly one done; with it the turn is off record, and what it
        cost is in the books."""
        if ending.status not in ("completed", "cancelled") and ending.failed is None:
            ending.fail(RuntimeFailed(f"{begun.runtime} could not finish.", hint="Try again, or another runtime."))
        await pen.flush()
        await pen(*hearing.unheard(), *pen.course.loose_ends(ending.status))
        books = await self._spending.booked(begun.session, begun.id, ending.usage)
        usage = {**ending.usage, "seconds": round(seconds, 3)}
        done = Done(status=ending.status, usage=usage, messages=tuple(pen.course.ids))
        along = SideWrites(put=(books,) if books else (), drop=((KIND, begun.key),), release_lease=True)
        await pen.end(*[ending.failed] if ending.failed else [], done, along=along)
        if not pen.is_free:  # somebody else has written its end
            await pen.let_go()
            await off_record(self._kit.store, begun)


def _foreign(runtime: str, error: Exception) -> RuntimeFailed:
    return RuntimeFailed(f"{runtime} failed: {type(error).__name__}: {error}", hint="Try again, or another runtime.")


@asynccontextmanager
async def _closing(given: AsyncGenerator[RuntimeOutput, None]) -> AsyncIterator[AsyncGenerator[RuntimeOutput, None]]:
    """Stopping a runtime is closing its generator; one that does not close is left behind."""
    try:
        yield given
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await given.aclose()


async def _cut(*tasks: asyncio.Task[None]) -> None:
    """Cancels, and waits until each has tidied up; one that does not listen is left behind."""
    for task in tasks:
        task.cancel()
    _, deaf = await asyncio.wait(tasks, timeout=GRACE)
    for task in deaf:
        logger.warning("%r does not stop", task)
    for task in set(tasks) - deaf:
        if not task.cancelled():
            task.exception()  # whoever wanted to know has asked before
