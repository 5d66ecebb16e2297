"""Subscribers: what a running turn of this process has appended is handed to whoever subscribes meanwhile."""

import pytest

from sojourn.core.events import Chunk, Done, Metadata
from sojourn.core.sessions import Recorded, SessionId
from sojourn.stores.sql.wakeups import Subscribers

HERE = "here"


def kept(*items, first=1):
    return [Recorded(session=SessionId(HERE), seq=seq, at=0.0, item=item) for seq, item in enumerate(items, first)]


@pytest.fixture
async def subscribers():
    made = Subscribers()
    made.wake([HERE], {HERE: kept(Metadata(), Chunk("a"))})
    return made


def numbers(subscribers):
    return [one.seq for one in subscribers.add(HERE).items]


async def test_a_subscriber_begins_with_the_running_turn(subscribers):
    subscribers.wake([HERE], {HERE: kept(Chunk("b"), first=3)})
    wakeup = subscribers.add(HERE)
    assert ([one.seq for one in wakeup.items], wakeup.is_set()) == ([1, 2, 3], True)
    assert subscribers.add(HERE, include_log=False).items == []


@pytest.mark.parametrize(
    ("names", "items"),
    [
        ([HERE], {}),  # it was changed in another way
        (None, {}),  # anything may have happened
        ([HERE], {HERE: kept(Chunk("c"), first=4)}),  # another process appended in between
        ([HERE], {HERE: kept(Chunk("b"), Done(), first=3)}),
        ([HERE], {HERE: kept(*[Chunk("x")] * 500, first=3)}),
    ],
    ids=["changed", "unknown", "gap", "done", "long"],
)
async def test_it_is_forgotten_when(subscribers, names, items):
    subscribers.wake(names, items)
    assert numbers(subscribers) == []


async def test_a_session_without_a_turn_is_not_kept(subscribers):
    subscribers.wake(["there"], {"there": kept(Chunk("a"))})
    assert subscribers.add("there").items == []
    assert numbers(subscribers) == [1, 2]
