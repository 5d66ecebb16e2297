"""A clock that goes back extends nothing and revives nothing, and one that leaps holds up nothing.

Leases, pairing codes, browsers, commands, schedules."""

from __future__ import annotations

import time

import pytest

from sojourn import config
from sojourn.core.errors import LeaseLost, NotFound
from sojourn.core.messages import user
from sojourn.core.places import Sender
from sojourn.gateway.pairing import CODE_TTL_SECONDS, Identities
from sojourn.http.browser_sessions import SESSION_SECONDS, BrowserSessions
from sojourn.http.host_names import Host
from sojourn.schedules.schedule_book import ScheduleBook
from tests.integration.schedules.test_schedule_book import make_schedule
from tests.integration.tools.tool_workspace import call, open_kit, room_in

HOST = Host("sojourn.localhost", 8790)


class Clock:
    """The wall clock of this process, moved at will."""

    def __init__(self) -> None:
        self.shift, self._real = 0.0, time.time

    def __call__(self) -> float:
        return self._real() + self.shift


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(time, "time", made)
    return made


async def test_a_lease_that_was_taken_over_does_not_come_back(clock):
    async with open_kit() as kit:
        session = await kit.store.create()
        old = await kit.store.lease(session.id, holder="old", surface="cli", seconds=5)
        clock.shift = 60.0
        new = await kit.store.lease(session.id, holder="new", surface="cli", seconds=5)
        clock.shift = -3600.0
        with pytest.raises(LeaseLost):
            await kit.store.append(old, [user("late")])
        await kit.store.append(new, [user("in time")])


async def test_a_pairing_code_is_not_valid_before_it_was_issued(clock, tmp_path):
    async with open_kit() as kit:
        people = Identities(kit.store, config.load({}), clock=clock)
        code = await people.issue_code("irc", Sender(id="ann", name="Ann"))
        assert code
        clock.shift = -2 * CODE_TTL_SECONDS
        with pytest.raises(NotFound):
            await people.pair(code, as_owner=True)


async def test_a_command_does_not_get_more_time(clock, tmp_path):
    async with open_kit(**{"tools.approval": "always"}) as kit:
        room = await room_in(kit, tmp_path)
        room.seconds = 1.0
        clock.shift = -86400.0
        started = time.monotonic()
        told = await call(kit, room, "terminal", command="sleep 100")
        assert "stopped after" in told.text
        assert time.monotonic() - started < 50


async def test_a_browser_session_that_was_over_does_not_come_back(clock):
    async with open_kit() as kit:
        browsers = BrowserSessions(lambda: kit.store, lambda: "mark", clock)
        signed_in = await browsers.sign_in(HOST, browser="Firefox", address="127.0.0.1")
        halves = (signed_in.cookie.partition(";")[0], signed_in.page_key, HOST)
        assert await browsers.find(*halves)
        clock.shift = SESSION_SECONDS + 60.0
        assert await browsers.find(*halves) is None
        clock.shift = 0.0
        assert await browsers.find(*halves) is None
        assert await browsers.list_sessions() == []


async def test_a_browser_session_does_not_get_more_time(clock):
    async with open_kit() as kit:
        browsers = BrowserSessions(lambda: kit.store, lambda: "mark", clock)
        signed_in = await browsers.sign_in(HOST, browser="Firefox", address="127.0.0.1")
        halves = (signed_in.cookie.partition(";")[0], signed_in.page_key, HOST)
        clock.shift = -3600.0  # set right by an hour
        assert await browsers.find(*halves)
        clock.shift = -365 * 86_400.0
        assert await browsers.find(*halves) is None


async def test_a_browser_that_was_signed_out_stays_out(clock):
    async with open_kit() as kit:
        browsers = BrowserSessions(lambda: kit.store, lambda: "mark", clock)
        signed_in = await browsers.sign_in(HOST, browser="Firefox", address="127.0.0.1")
        halves = (signed_in.cookie.partition(";")[0], signed_in.page_key, HOST)
        await browsers.sign_out_all()
        clock.shift = -86_400.0
        assert await browsers.find(*halves) is None


async def test_a_schedule_goes_on_after_a_clock_that_was_a_year_ahead(clock):
    async with open_kit() as kit:
        book = ScheduleBook(kit.store, clock)
        schedule = await book.add(make_schedule("every 1 minute"))
        clock.shift = 365 * 86_400.0
        assert await book.claim_due(schedule)
        clock.shift = 0.0
        assert await book.claim_due(await book.find(schedule.id)) is None
        clock.shift = 120.0
        ahead = await book.claim_due(await book.find(schedule.id))
        assert ahead
        clock.shift = 60.0
        assert await book.claim_due(await book.find(schedule.id)) is None  # no time comes twice


async def test_a_clock_that_begins_in_1970_does_not_hold_up_the_server(clock):
    async with open_kit() as kit:
        book = ScheduleBook(kit.store, clock)
        clock.shift = 1_000_000.0 - clock()
        schedule = await book.add(make_schedule("every 1 minute"))
        clock.shift = 0.0  # the network has told the time
        began = time.thread_time()
        assert await book.claim_due(schedule)
        assert time.thread_time() - began < 1.0
