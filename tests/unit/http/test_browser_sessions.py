"""Browser sessions: two halves, one origin, one token, thirty days."""

from dataclasses import replace

import pytest

from sojourn.core.errors import Ambiguous, Conflict, NotFound
from sojourn.http.browser_sessions import SESSION_SECONDS, BrowserSessions
from sojourn.http.host_names import Host

HERE = Host("sojourn.localhost", 8790)


class Records:
    """As much of a store as sessions need."""

    def __init__(self):
        self.kept = {}

    async def put_record(self, record, *, expect=None):
        old = self.kept.get(record.key)
        if expect is not None and expect != (old.revision if old else 0):
            raise Conflict("It was changed.")
        self.kept[record.key] = replace(record, revision=(old.revision if old else 0) + 1)

    async def get_record(self, kind, key):
        return self.kept.get(key)

    async def list_records(self, kind, *, prefix="", after="", limit=1000):
        found = [self.kept[key] for key in sorted(self.kept) if key.startswith(prefix) and key > after]
        return found[:limit]

    async def delete_record(self, kind, key):
        return self.kept.pop(key, None) is not None


class World:
    def __init__(self):
        self.now, self.mark, self.records = 1_000_000.0, "mark", Records()
        self.sessions = BrowserSessions(lambda: self.records, lambda: self.mark, lambda: self.now)

    async def sign_in(self, host=HERE):
        made = await self.sessions.sign_in(host, browser="Firefox on Linux", address="127.0.0.1")
        return made.cookie.partition(";")[0], made.page_key, made.cookie


@pytest.fixture
def world():
    return World()


async def test_both_halves_are_needed_at_the_same_origin(world):
    cookie, key, header = await world.sign_in()
    assert "HttpOnly" in header
    assert "SameSite=Strict" in header
    find = world.sessions.find
    assert (await find(f"other=1; {cookie}", key, HERE)).browser == "Firefox on Linux"
    other_cookie, other_key, _ = await world.sign_in()
    for cookies, shown, host in (
        (cookie, "", HERE),
        ("", key, HERE),
        (cookie, other_key, HERE),
        (other_cookie, key, HERE),
        (cookie, key, Host("localhost", 8790)),
        (cookie.replace("8790", "9999"), key, Host("sojourn.localhost", 9999)),
        ("\x00=", key, HERE),
        ("sojourn-8790=", key, HERE),
    ):
        assert await find(cookies, shown, host) is None


async def test_a_session_ends_with_its_time_and_with_its_token(world):
    cookie, key, _ = await world.sign_in()
    world.mark = "another"
    assert await world.sessions.find(cookie, key, HERE) is None
    assert await world.sessions.list_sessions() == []
    world.mark = "mark"
    world.now += SESSION_SECONDS - 1
    assert await world.sessions.find(cookie, key, HERE)
    world.now += 1
    assert await world.sessions.find(cookie, key, HERE) is None
    await world.sign_in()
    assert len(world.records.kept) == 1  # what has expired is not kept


async def test_a_sign_out_beats_a_request_that_is_under_way(world):
    cookie, key, _ = await world.sign_in()
    world.now += 1000
    await world.sessions.find(cookie, key, HERE)
    (listed,) = await world.sessions.list_sessions()
    assert (listed.last_seen, listed.since) == (world.now, world.now - 1000)
    world.now += 1000
    record, old_get = next(iter(world.records.kept.values())), world.records.get_record

    async def get_then_delete(kind, name):
        world.records.kept.clear()
        return record

    world.records.get_record = get_then_delete
    await world.sessions.find(cookie, key, HERE)
    world.records.get_record = old_get
    assert world.records.kept == {}


async def test_sessions_are_signed_out_by_a_unique_beginning(world):
    for _ in range(40):
        await world.sign_in()
    ids = [one.id for one in await world.sessions.list_sessions()]
    await world.sessions.sign_out(ids[0])
    assert not await world.sessions.is_signed_in(ids[0])
    assert await world.sessions.is_signed_in(ids[1])
    shared = next(one[0] for one in ids[1:] if sum(other.startswith(one[0]) for other in ids[1:]) > 1)
    with pytest.raises(Ambiguous):
        await world.sessions.sign_out(shared)
    for wrong in ("", ids[0], "zz"):
        with pytest.raises(NotFound):
            await world.sessions.sign_out(wrong)
    assert await world.sessions.sign_out_all() == 39
