"""Two servers on one real store: each time is one run, one session and one turn, over clock changes and kills."""

import asyncio
import random
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from sojourn.core.messages import text_of
from sojourn.ports.store import Listing
from sojourn.schedules.recurrence import parse_recurrence
from sojourn.schedules.schedule_book import Schedule, ScheduleBook
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore

BERLIN = ZoneInfo("Europe/Berlin")
EVENINGS = [datetime(2026, 3, 28, 20, tzinfo=BERLIN), datetime(2026, 10, 24, 20, tzinfo=BERLIN)]  # the clocks change
TIMES = ("every 15 minutes", "every 20 minutes", "every 30 minutes", "every hour", "every day 2:30")
STEPS, STEPS_OF_A_SERVER = 54, 25
LONGEST_STEP = 14 * 60.0  # shorter than the shortest schedule: no time is missed
PROGRAM = Path(__file__).with_name("schedule_server.py")


class Server:
    """A process that looks when it is told, and is killed and started again."""

    def __init__(self, *where):
        self._where, self._process = where, None

    async def start(self):
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, str(PROGRAM), *self._where)
        self._process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
        assert await self._process.stdout.readline() == b"ready\n"

    async def look(self, clock):
        self._process.stdin.write(b"%f\n" % clock)
        assert await self._process.stdout.readline() == b"looked\n"

    async def kill_amid_a_look(self, clock, seconds):
        self._process.stdin.write(b"%f\n" % clock)
        await asyncio.sleep(seconds)
        await self.kill()

    async def kill(self):
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def where(request, home):
    """The arguments of the servers, and a store of our own on the same place, and when the nights begin."""
    home.mkdir(exist_ok=True)
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    store = PostgresStore(url) if url else SqliteStore(home / "state.db")
    yield (str(home), *([url] if url else [])), store, EVENINGS[1:] if url else EVENINGS
    await store.close()


async def pass_a_night(servers, begin, chance):
    """Both look every few minutes; now and then one is killed meanwhile. Returns the time."""
    clock = begin
    for step in range(1, STEPS + 1):
        clock += chance.uniform(LONGEST_STEP * 0.9, LONGEST_STEP)
        if step % STEPS_OF_A_SERVER:
            await asyncio.gather(*(one.look(clock) for one in servers))
            continue
        killed, other = chance.sample(servers, 2)
        await asyncio.gather(killed.kill_amid_a_look(clock, chance.uniform(0, 0.02)), other.look(clock))
        await killed.start()
    for _ in range(2):  # what the one killed last had begun
        await asyncio.gather(*(one.look(clock) for one in servers))
    return clock


async def list_prompts(store):
    """What was said in each session by schedules."""
    for session in await store.find(Listing(limit=1000)):
        kept = [one.item async for one in store.read(session.id, messages_only=True)]
        yield session.id, [text_of(one) for one in kept if one.role == "user"]


async def test_each_time_of_a_night_with_a_clock_change_is_run_once(where):
    arguments, store, evenings = where
    chance, servers, wanted = random.Random(5), [Server(*arguments) for _ in range(2)], {}
    await asyncio.gather(*(one.start() for one in servers))
    try:
        for evening in evenings:
            book = ScheduleBook(store, evening.timestamp)
            made = [await book.add(make_schedule(when)) for when in TIMES]
            end = await pass_a_night(servers, evening.timestamp(), chance)
            for one in made:
                wanted[one.id] = one.recurrence.times_until(evening.timestamp(), end)
                await book.change(one, lambda now: replace(now, paused="its night is over"))
    finally:
        await asyncio.gather(*(one.kill() for one in servers))
    said = {session: texts async for session, texts in list_prompts(store)}
    errors, sessions = [], []
    for id, times in wanted.items():
        schedule = await book.find(id)
        runs = await book.list_runs(schedule, limit=1000)
        assert [run.at for run in runs] == times
        assert schedule.missed == 0
        assert {run.state for run in runs} <= {"completed", "failed"}
        assert all(said[run.session] == [schedule.text] for run in runs)
        errors += [run.error for run in runs if run.state == "failed"]
        sessions += [run.session for run in runs]
    assert len(sessions) > 100 * len(evenings)
    assert sorted(sessions) == sorted(session for session, texts in said.items() if texts)
    assert len(errors) <= 2 * STEPS // STEPS_OF_A_SERVER * len(TIMES)
    assert all("ended before" in error for error in errors)  # its server was killed in its turn


def make_schedule(when):
    return Schedule(id="", name=when, when=when, recurrence=parse_recurrence(when, "Europe/Berlin"), text=when)
