"""Schedule runner: looks every few seconds which schedules are due, and runs what it could claim as a session."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from sojourn.core.errors import Conflict, SojournError, TitleTaken
from sojourn.core.events import Done, Failed
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.ports.service import Caller, Service, TurnRequest
from sojourn.ports.store import Record, Store
from sojourn.schedules.schedule_book import Schedule, ScheduleBook, ScheduleRun
from sojourn.turn_support.cost_limits import USAGE_KIND

TICK_SECONDS = 5.0
SURFACE = "schedule"
_NOTICE_KIND = "notice"  # what the owner is told once
logger = logging.getLogger(__name__)


class ScheduleRunner:
    """Runs due schedules of one store. Several runners share the work: each time is claimed once."""

    def __init__(self, service: Service, store: Store, *, now: Callable[[], float] = time.time) -> None:
        self._service, self._store, self._now = service, store, now
        self.book = ScheduleBook(store, now)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self.tick()
            except SojournError as error:
                logger.warning("schedules could not be looked at: %s", error)
            await asyncio.sleep(TICK_SECONDS)

    async def tick(self) -> list[ScheduleRun]:
        """Claims what is due or was abandoned, and starts it. Returns what it claimed."""
        claimed: list[ScheduleRun] = []
        for schedule in await self.book.list_schedules():
            mine = await self.book.claim_abandoned(schedule)
            if not schedule.paused and not await self._stop_at_budget(schedule):
                due = await self.book.claim_due(schedule)
                mine += [due] if due is not None else []
            for run in mine:
                task = asyncio.create_task(self._run(schedule, run))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            claimed += mine
        return claimed

    async def settle(self) -> None:
        """Returns when nothing runs here."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _stop_at_budget(self, schedule: Schedule) -> bool:
        """Pauses a schedule whose runs of this month have used up its budget, and tells the owner."""
        if not schedule.budget_usd:
            return False
        month = datetime.fromtimestamp(self._now(), UTC).strftime("%Y-%m")
        runs = await self.book.list_runs(schedule, limit=1000)
        spent = sum(one.cost_usd for one in runs if datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m") == month)
        if spent < schedule.budget_usd:
            return False
        why = f"it has cost {spent:.2f} of the {schedule.budget_usd:.2f} US dollars it may in a month"
        await self.book.change(schedule, lambda one: replace(one, paused=one.paused or why))
        text = f"The schedule “{schedule.name}” is paused: {why}. `sojourn schedule resume {schedule.id}` goes on."
        key = f"schedule-budget/{schedule.id}/{month}"
        with suppress(Conflict):  # another server has told it
            await self._store.put_record(Record(kind=_NOTICE_KIND, key=key, value={"text": text}), expect=0)
        return True

    async def _run(self, schedule: Schedule, run: ScheduleRun) -> None:
        """Says the prompt in a session of its own. Repeated after a crash, it finds the same session and turn."""
        try:
            if run.session is None:
                session = await self._open(schedule, run)
                run = await self.book.save_run(replace(run, session=session.id, state="running"))
            run = await self._say(schedule, run)
        except Conflict:
            return  # another server took it over
        except SojournError as error:
            run = replace(run, state="failed", error=f"{error} {error.hint}".strip())
        with suppress(Conflict):
            await self.book.save_run(run)

    async def _open(self, schedule: Schedule, run: ScheduleRun) -> Session:
        local = datetime.fromtimestamp(run.at, ZoneInfo(schedule.recurrence.timezone))
        title = f"{schedule.name[:60]}, {local:%Y-%m-%d %H:%M}"
        by = Caller(surface=SURFACE, holder=f"schedule {schedule.id}")
        for wanted in (title, f"{title} ({schedule.id})", None):
            try:
                return await self._service.open(
                    by, title=wanted, model=schedule.model or None, runtime=schedule.runtime, cwd=schedule.cwd
                )
            except TitleTaken:
                continue
        raise AssertionError("a session without a title can always be opened")

    async def _sum_cost(self, session: SessionId) -> float:
        """What the session has cost, as it is booked."""
        booked = [one.value.get("cost_usd") for one in await self._store.list_records(USAGE_KIND, session=session)]
        return sum(float(one) for one in booked if isinstance(one, int | float))

    async def _say(self, schedule: Schedule, run: ScheduleRun) -> ScheduleRun:
        assert run.session is not None
        by = Caller(surface=SURFACE, principal=OWNER, holder=f"schedule {schedule.id}")
        request = TurnRequest(text=schedule.text, key=f"schedule/{run.key}", cwd=schedule.cwd, attended=False)
        turn = await self._service.say(run.session, request, by)
        failed, done = "", Done(status="interrupted")
        async with aclosing(self._service.watch(run.session, after=turn.after)) as log:
            async for recorded in log:
                if recorded.turn != turn.id:
                    continue
                if isinstance(recorded.item, Failed):
                    failed = f"{recorded.item.message} {recorded.item.hint}".strip()
                elif isinstance(recorded.item, Done):
                    done = recorded.item
                    break
        spent = await self._sum_cost(run.session)
        if done.status != "completed":
            return replace(run, state="failed", cost_usd=spent, error=failed or f"The turn was {done.status}.")
        if schedule.deliver:
            platform, _, chat = schedule.deliver.partition(":")
            await self._service.hand_off(run.session, platform, by=by, target=chat)
        return replace(run, state="completed", cost_usd=spent)
