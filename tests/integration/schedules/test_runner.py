"""Schedules on a real store and service: runs as sessions, delivery, budgets, crashes, two servers at once."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from sojourn.core.errors import RateLimited
from sojourn.ports.service import Caller
from sojourn.ports.store import Listing
from sojourn.processes.identity import this_process
from sojourn.schedules.recurrence import parse_recurrence
from sojourn.schedules.runner import ScheduleRunner
from sojourn.schedules.schedule_book import Schedule
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import Fail, ReportCost, SayText, ScriptedRuntime

START = 1_800_000_000.0  # 08:00 UTC, on a Friday
DEAD = {**this_process(), "pid": 2**22 + 1, "started": "0"}


class World:
    def __init__(self, home, runtime):
        self.now, self.runtime = START, runtime
        self.app = FakeApp(
            store=SqliteStore(home / "state.db"),
            settings=make_settings(home, agent_titles=False),
            runtimes=[runtime],
            make_service=LocalService,
        )
        self.runner = ScheduleRunner(self.app.service, self.app.store, now=lambda: self.now)

    async def add(self, **more):
        made = Schedule(
            id="", name="Briefing", when="hourly", recurrence=parse_recurrence("hourly", "UTC"), text="news"
        )
        return await self.runner.book.add(replace(made, **more))

    async def after(self, seconds):
        self.now += seconds
        claimed = await self.runner.tick()
        await self.runner.settle()
        return claimed


@asynccontextmanager
async def world(home):
    home.mkdir(exist_ok=True)
    made = World(home, ScriptedRuntime())
    try:
        yield made
    finally:
        await made.app.close()


async def test_each_run_is_a_session_of_its_own(home):
    async with world(home) as one:
        schedule = await one.add()
        assert await one.after(60) == []
        assert len(await one.after(3600)) == 1
        assert await one.after(1) == []
        await one.after(3600)
        runs = await one.runner.book.list_runs(schedule)
        assert [run.state for run in runs] == ["completed"] * 2
        sessions = await one.app.store.find(Listing())
        assert {run.session for run in runs} == {session.id for session in sessions}
        assert all(session.title.startswith("Briefing, 2027-01-15") for session in sessions)
        assert [seen.said for seen in one.runtime.seen] == ["news", "news"]


async def test_two_servers_at_once_run_each_time_once(home):
    async with world(home) as one, world(home) as other:
        schedule = await one.add()
        for _ in range(5):
            one.now = other.now = one.now + 3600
            await asyncio.gather(one.runner.tick(), other.runner.tick())
        await asyncio.gather(one.runner.settle(), other.runner.settle())
        assert len(one.runtime.seen) + len(other.runtime.seen) == 5
        assert len(await one.runner.book.list_runs(schedule)) == 5


async def test_a_run_whose_server_died_is_taken_over_and_said_once(home):
    async with world(home) as one:
        schedule = await one.add()
        one.now += 3600
        book = one.runner.book
        run = await book.claim_due(schedule)
        session = await one.app.service.open(Caller(surface="schedule"), title="died here")
        await book.save_run(replace(run, session=session.id, state="running", process=DEAD))
        assert [taken.session for taken in await one.after(1)] == [session.id]
        await one.after(1)
        assert [run.state for run in await book.list_runs(schedule)] == ["completed"]
        assert [seen.said for seen in one.runtime.seen] == ["news"]


async def test_a_budget_that_is_used_up_pauses_the_schedule_and_tells_the_owner(home):
    async with world(home) as one:
        one.runtime.on("news", SayText("expensive"), ReportCost(0.6))
        schedule = await one.add(budget_usd=1.0)
        for _ in range(4):
            await one.after(3600)
        found = await one.runner.book.find(schedule.id)
        assert len(await one.runner.book.list_runs(schedule)) == 2
        assert "1.20 of the 1.00 US dollars" in found.paused
        notices = await one.app.service.take_notices(Caller())
        assert ["is paused" in text for text in notices] == [True]


async def test_a_failed_run_says_why_and_the_next_time_comes(home):
    async with world(home) as one:
        one.runtime.on("news", Fail(RateLimited("Too many.", hint="Wait.")))
        schedule = await one.add()
        await one.after(3600)
        await one.after(3600)
        runs = await one.runner.book.list_runs(schedule)
        assert [(run.state, run.error) for run in runs] == [("failed", "Too many. Wait.")] * 2


async def test_a_delivery_that_cannot_be_made_is_an_error_of_the_run(home):
    async with world(home) as one:
        schedule = await one.add(deliver="telegram")
        await one.after(3600)
        (run,) = await one.runner.book.list_runs(schedule)
        assert (run.state, "No gateway is running" in run.error) == ("failed", True)
        assert run.session is not None


async def test_a_paused_schedule_rests(home):
    async with world(home) as one:
        schedule = await one.add(paused="you paused it")
        await one.after(3600 * 5)
        assert await one.runner.book.list_runs(schedule) == []
