"""A clock that goes back extends nothing and revives nothing: leases, pairing codes, running commands."""

from __future__ import annotations

import time

import pytest

from sojourn import config
from sojourn.core.errors import LeaseLost, NotFound
from sojourn.core.messages import user
from sojourn.core.places import Sender
from sojourn.gateway.pairing import CODE_TTL_SECONDS, Identities
from tests.integration.tools.rig import call, open_kit, room_in


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
