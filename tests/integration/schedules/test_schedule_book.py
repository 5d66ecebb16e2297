"""Claims of schedules: each time once, over clock changes, restarts, crashes and several servers."""

import asyncio
import random
from collections import Counter
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.processes.identity import this_process
from sojourn.schedules.recurrence import parse_recurrence
from sojourn.schedules.schedule_book import KIND, Schedule, ScheduleBook

BERLIN = ZoneInfo("Europe/Berlin")
BEGIN = datetime(2026, 10, 10, tzinfo=BERLIN).timestamp()  # two weeks before the clocks change
DEAD = {**this_process(), "pid": 2**22 + 1, "started": "0"}


class Records:
    """Records with revisions, as the stores keep them; every call lets others go first now and then."""

    def __init__(self, chance):
        self.rows, self._chance = {}, chance

    async def _let_others(self):
        while self._chance.random() < 0.3:
            await asyncio.sleep(0)

    async def put_record(self, record, *, expect=None, lease=None):
        await self._let_others()
        known = self.rows.get((record.kind, record.key))
        if expect is not None and expect != (known.revision if known else 0):
            raise Conflict("changed", hint="")
        kept = replace(record, revision=(known.revision if known else 0) + 1)
        self.rows[record.kind, record.key] = kept
        return kept

    async def get_record(self, kind, key):
        await self._let_others()
        return self.rows.get((kind, key))

    async def list_records(self, kind, *, principal=None, session=None, prefix="", after="", limit=1000):
        await self._let_others()
        found = [row for (of, key), row in list(self.rows.items()) if of == kind and key.startswith(prefix)]
        return sorted(found, key=lambda row: row.key)[:limit]

    async def delete_record(self, kind, key, *, expect=None):
        return self.rows.pop((kind, key), None) is not None


def make_schedule(when, name="briefing"):
    return Schedule(id="", name=name, when=when, recurrence=parse_recurrence(when, "Europe/Berlin"), text="Say hello.")


class World:
    """Two servers on one store, a clock that somebody sets, and what was run."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.records, self.clock = Records(self.chance), BEGIN
        self.servers = [ScheduleBook(self.records, lambda: self.clock) for _ in range(2)]
        self.executed = Counter()

    async def look(self, book, schedules):
        """One look of one server. A run is executed, or the server dies before it and another one takes it over."""
        for known in schedules:
            schedule = await book.find(known.id)
            due = await book.claim_due(schedule)
            for run in [*([due] if due else []), *await book.claim_abandoned(schedule)]:
                if self.chance.random() < 0.05:
                    await book.save_run(replace(run, process=DEAD))
                    continue
                try:
                    await book.save_run(replace(run, state="completed"))
                except Conflict:
                    continue
                self.executed[run.schedule, run.at] += 1


async def test_ten_thousand_times_are_each_run_once():
    world = World(7)
    schedules = [
        await world.servers[0].add(make_schedule(when, name=when))
        for when in ("every 5 minutes", "every hour", "every day 2:30")
    ]
    end, looked, downtimes = BEGIN + 34 * 86400, BEGIN, []
    while world.clock < end:
        if world.chance.random() < 0.002:  # both are down for up to six hours, and start anew
            world.clock += world.chance.uniform(60, 6 * 3600)
            downtimes.append((looked, world.clock))
            world.servers = [ScheduleBook(world.records, lambda: world.clock) for _ in range(2)]
        books = world.servers if world.chance.random() < 0.5 else [world.chance.choice(world.servers)]
        await asyncio.gather(*(world.look(book, schedules) for book in books))
        looked = world.clock
        if world.chance.random() < 0.01:  # somebody sets the clock back
            seen, world.clock = world.clock, world.clock - world.chance.uniform(1, 200)
            await world.look(world.servers[0], schedules)
            world.clock = seen
        world.clock += world.chance.uniform(60, 280)
        for key in [key for key, row in world.records.rows.items() if key[0] != KIND and _is_old(row, world.clock)]:
            del world.records.rows[key]  # keeps the lists short, as removing old runs would
    for _ in range(5):
        await world.look(world.servers[0], schedules)
    assert set(world.executed.values()) == {1}
    total = missed = 0
    for schedule in schedules:
        now = await world.servers[0].find(schedule.id)
        times = schedule.recurrence.times_until(schedule.last_at, now.last_at, most=100_000)
        ran = {at for (id, at) in world.executed if id == schedule.id}
        assert ran <= set(times)
        assert len(ran) + now.missed == len(times)
        in_downtime = [sum(a < at <= b for at in times) for a, b in downtimes]
        assert now.missed == sum(max(0, number - 1) for number in in_downtime)
        total, missed = total + len(times), missed + now.missed
    assert total >= 10_000
    assert missed < total / 5


def _is_old(row, clock):
    return row.value["state"] == "completed" and row.value["at"] < clock - 3600


async def test_a_time_that_is_more_than_a_day_old_is_not_made_up_for():
    world = World(1)
    schedule = await world.servers[0].add(make_schedule("every weekday 8:00"))
    world.clock = datetime(2026, 10, 18, 12, tzinfo=BERLIN).timestamp()  # a Sunday: the last time was on Friday
    assert await world.servers[0].claim_due(schedule) is None
    assert (await world.servers[0].find(schedule.id)).missed == 5


async def test_a_schedule_is_found_by_id_beginning_or_name():
    book = World(1).servers[0]
    one = await book.add(make_schedule("hourly", "Morning briefing"))
    await book.add(make_schedule("hourly", "Evening briefing"))
    assert {(await book.find(words)).id for words in (one.id, one.id[:6], "Morning briefing", "morning")} == {one.id}
    with pytest.raises(BadInput, match="several"):
        await book.find("briefing")
    with pytest.raises(NotFound):
        await book.find("nope")
    await book.remove(one)
    assert [each.name for each in await book.list_schedules()] == ["Evening briefing"]
